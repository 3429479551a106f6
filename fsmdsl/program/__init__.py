"""Programs of whole numbers: nodes, what can be asked of them, and two printers."""
