"""Diagrams: a machine as one graph, and the graph as DOT, Mermaid, PlantUML, and through Graphviz as a picture."""
