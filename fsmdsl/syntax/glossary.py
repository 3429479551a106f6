"""The terms of the documentation: one list, of which the glossary is made, and which `fsm explain` prints."""

from __future__ import annotations

from fsmdsl.dataclasses import dataclass
from fsmdsl.syntax.topics import TOPIC_OF, Topic
from fsmdsl.syntax.words import MEANINGS


@dataclass(frozen=True, slots=True)
class Term:
    """A term, or several with commas between them, its meaning, and its origin, if it is not our own."""

    text: str
    meaning: str
    origin: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """What it can be looked up by."""
        return (self.text, *self.text.split(", "))

    @property
    def topic(self) -> Topic | None:
        """The section that explains it; None where no section does."""
        return next((TOPIC_OF[name] for name in self.names if name in TOPIC_OF), None)

    @property
    def is_keyword(self) -> bool:
        """Does a keyword have the same name?"""
        return any(name in MEANINGS for name in self.names)


GLOSSARY = (
    Term("action", "an operation that a transition requests from hand-written code", "UML"),
    Term("alternative", "one of several repairs that replace the same row; the first one applies"),
    Term("amendment", "a declaration, with a reason, that the document lacks and the machine needs"),
    Term(
        "bound, within the bound",
        "a condition on the states of a system (`explore while`): no step is taken from a state in which it is false; "
        "a property of runs that holds within the bound may be violated by a run that leaves it",
        'TLC "state constraint"',
    ),
    Term("cell", "a piece of hardware that is allocated as a unit: a GPU, a node, a rack", "HiveD (OSDI 2020)"),
    Term(
        "channel",
        "a queue of messages that are delivered in later steps; `to each`: one queue per receiver, `from each … to "
        "each …`: one per pair of sender and receiver",
        "message passing",
    ),
    Term(
        "circular wait",
        "a set of instances, each of which waits for a step that only another of them can take",
        "operating systems",
    ),
    Term("composite state", "a state that contains other states", "Harel statecharts"),
    Term("counterexample", "a run that violates a property", "model checking"),
    Term(
        "crash",
        "a step in which fields that are not durable return to their initial values and instances take their "
        "`on crash` transitions; `crash`: of the whole system, `crash of x`: of one process, `crash between writes`: "
        "of the whole system within a step",
    ),
    Term(
        "crash transition",
        "an `on crash` transition, which leads from a volatile state to the state after the crash",
    ),
    Term("deadlock", "a state in which no step is possible, and in which the system may not rest", "model checking"),
    Term("durable", "a durable field survives a crash", "databases"),
    Term(
        "environment",
        "everything outside the machines: users, hardware, other services; a named environment can be shared by "
        "several systems",
        "reactive systems",
    ),
    Term("eventless transition", "a transition without a trigger, taken in a round", 'SCXML, UML "completion"'),
    Term("exhaustive", "an exhaustive search visits every reachable state", "model checking"),
    Term(
        "fairness, weak and strong",
        "the assumption that a step is eventually taken: weak, if it stays possible; strong, if it becomes possible "
        "again and again",
        "temporal logic",
    ),
    Term("fault", "the reason why a step fails: `unhandled`, `overlap`, `range`, …"),
    Term("gang", "a group of tasks that start together or not at all", "gang scheduling (Ousterhout, 1982)"),
    Term("guard", "the condition of a transition, after `when`", "UML"),
    Term("hole", "a gap in a document: a case that it does not cover, and the resulting failure"),
    Term(
        "initial state",
        "of a machine: the state in which an instance begins (`initial`); of a system: a state in which a run "
        "begins; there are several if fields can begin with any value",
        "TLA+",
    ),
    Term("internal transition", "a transition without a target: no state is left or entered", "UML"),
    Term("invariant", "a condition that must be true in every state", "model checking"),
    Term("lasso", "a counterexample to a property of runs: a path to a loop that repeats forever", "model checking"),
    Term("lazy preemption", "preemption in which a group loses its guarantee instead of its cells", "HiveD"),
    Term("liveness", "the guarantee that something good eventually happens", "Lamport, 1977"),
    Term(
        "orbit",
        "a set of states that differ only by a permutation of interchangeable instances",
        "symmetry reduction",
    ),
    Term(
        "persistent, volatile",
        "a persistent state survives a crash; a crash moves the machine out of a volatile state, through a crash "
        "transition",
    ),
    Term("preemption", "taking cells from a lower-priority group for a higher-priority one", "scheduling"),
    Term("property", "a formula about runs", "temporal logic"),
    Term("reachable", "a condition that must be true in at least one state", "model checking"),
    Term("record", "a value with named parts, such as `Entry(term = 1, value = true)`", "TLA+"),
    Term(
        "repair",
        "all amendments of a module that have the same name or, if they have no name, the same reason; they apply "
        "together",
    ),
    Term(
        "rest",
        "a state from which no step is possible, but which is not a deadlock, because of `final` or `resting` "
        "states or `may rest when`",
        '"quiescence"',
    ),
    Term("round", "the eventless transitions at the end of a step", 'SCXML "macrostep"'),
    Term("safety", "the guarantee that nothing bad happens", "Lamport, 1977"),
    Term("scenario", "a worked example, run as a test"),
    Term(
        "sliver, slice",
        "a sliver is a container on a node; a slice consists of all slivers of one experiment",
        "CONFINE, PlanetLab",
    ),
    Term("step", "one external trigger together with everything that it causes", 'SCXML "macrostep"'),
    Term(
        "stutter",
        "to take a step that changes nothing in the system that is refined; with `fsm verify --stutter`, a run may "
        "also stop although steps are possible",
        "TLA+",
    ),
    Term("symmetric", "the instances of a symmetric set are interchangeable", "Murphi scalarset"),
    Term("system", "the number of instances and the behaviour of the environment: the unit of exploration"),
    Term("transient", "a transient state is left within the round in which it is entered"),
    Term("twin", "a test that runs your implementation side by side with the model", "model-based testing"),
    Term("vacuous", "a vacuous property is true only because a premise is never true", "model checking"),
    Term("virtual cluster", "a tenant's guaranteed share of a cluster", "HiveD"),
    Term("witness", "a run that shows that a state is reachable", "model checking"),
)
