"""The kinds of faults, as verdicts and scenarios name them: what each means, and what to do."""

from __future__ import annotations

from functools import cache

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.step.world import FaultKind


@dataclass(frozen=True, slots=True)
class FaultPage:
    """A kind of fault. `remedy` is the help below a verdict. The page and `fsm explain` show the `explanation`, in
    Markdown, with an example that fails in this way."""

    kind: FaultKind
    summary: str
    remedy: str
    explanation: str = field(repr=False)


UNHANDLED = FaultPage(
    "unhandled",
    "an event reaches an instance that neither handles nor ignores it",
    "add a row or a guard for it, or `ignore` it in this state",
    """
Every event that a machine or an `environment` block can send to an instance needs a row in the instance's current
state, or an `ignore`. If rows exist but none of their guards is true, the message lists the guards. In a scenario or a
log, an answer, a timer or a message that is not possible at that point is also reported as `unhandled`.

```fsm
machine Lamp {
    initial state Off
    state On
    event toggle from Switch
    Off -> On on toggle           // nothing for a second `toggle`
}
machine Switch {
    param lamp: Lamp
    initial state Up
    event press from environment
    Up on press do lamp.toggle
}

system Room { lamp: Lamp  switch: Switch { lamp = lamp } }
```

- Add the missing row: `On -> Off on toggle`.
- If the event has no effect there, ignore it: `ignore toggle in On`.
- If the event is impossible in this state, guard the row that sends it: `Up on press when lamp in Off do lamp.toggle`.
  An event in an `environment` block can have a guard, too.
""",
)

OVERLAP = FaultPage(
    "overlap",
    "two transitions are enabled at once, and neither has priority",
    "make the guards exclude each other, or rank the rows with `priority`",
    """
A machine is deterministic: at most one transition may be enabled for an event. A row of an inner state takes precedence
over a row of an enclosing state. Other rows need guards that exclude each other, or a `priority`.

```fsm
machine Door {
    initial state Open
    state Shut
    state Broken
    event push(n: 0..3), repair from environment
    gentle: Open -> Shut    on push(n) when n < 3
    hard:   Open -> Broken  on push(n) when n > 1     // both for n = 2
    Shut, Broken -> Open    on repair
    ignore push in Shut, Broken
    ignore repair in Open
}

system Hall { door: Door }
```

- Change a guard: `when n < 2`.
- Or rank the rows: `priority hard > gentle`.
""",
)

REENTRANCE = FaultPage(
    "reentrance",
    "an event reaches an instance in the middle of its own transition",
    "read a field of the other instance after the send, or let it answer through a channel",
    """
A call is a step inside the caller's step: the receiver's transition ends before the caller continues. A receiver that
calls back reaches the caller before the caller has entered its new state. So the receiver cannot reply during the call.

```fsm
machine Client {
    param server: Server
    initial state Idle
    state Served
    event begin, rest from environment
    event reply from Server
    Idle -> Served on begin do server.ask(self)
    Served -> Idle on rest
    ignore begin, reply in Served
    ignore rest, reply in Idle
}
machine Server {
    initial state On
    event ask(client: Client) from Client
    On on ask(client) do client.reply       // the client is still in its own transition
}

system S { server: Server  client: Client { server = server } }
```

- To use a result immediately, let the receiver store it, and read it after the call:
  `do { server.ask(self); if server.granted { … } }`.
- To receive a reply later, use a channel: declare `channel replies: fifo[2] to each Client` and
  `event reply from replies`, and write `do send replies.reply to client`. The reply is then a separate step.
""",
)

BUSY = FaultPage(
    "busy",
    "an event reaches an instance that is waiting for the outcome of an action",
    "do not send before the answer is there, or send through a `waiting` channel",
    """
An instance accepts no events between the call of an action and its outcome. An `async` action blocks only this
instance, so events from other instances can reach it. In a scenario or a log, any external event that arrives while the
system waits for the outcome of a plain action, or before it has recovered from a crash, is also reported as `busy`.

```fsm
machine Node {
    initial state Down
    state Up
    async action boot -> ok
    event begin, fail from environment
    event stop from Operator
    Down on begin do boot
    Down -> Up on boot.ok
    Up -> Down on fail
    ignore begin in Up
    ignore fail in Down
    ignore stop in Down, Up
}
machine Operator {
    param node: Node
    initial state On
    event stop from environment
    On on stop do node.stop              // the node may still be booting
}

system S { node: Node  operator: Operator { node = node } }
```

- Let the sender wait: guard its row with a field that the receiver sets when the outcome arrives.
- Or send through a channel that holds the message until then: declare `channel orders: waiting fifo[1] to Node` and
  `event stop from orders`, and write `do send orders.stop`.
- If the instance must accept events in the meantime, model the action as a request and an event that completes it.
""",
)

NONE = FaultPage(
    "none",
    "an expression has no value here: an optional is none, a list is empty, or a divisor is 0",
    "check it first: `when x != none`, `size(xs) > 0`, or a divisor that is not 0",
    """
A field of type `T?` may be `none`, but not where it is used as a `T` (for example, to send it an event or to read one
of its fields). The same applies to the first item of an empty list, an item or a key that does not exist, and division
by 0.

```fsm
machine Gang {
    pod: Pod?
    initial state Waiting
    event preempt from environment
    Waiting on preempt do pod.evict       // `pod` is none in the beginning
}
machine Pod {
    initial state Bound
    event evict from Gang
    ignore evict in Bound
}

system S { gang: Gang  pod: Pod }
```

- Guard the row: `when pod != none`.
- Or test the value in the row: `if pod != none { pod.evict }`.
- If the field can never be `none`, declare it without `?`, and give it a value in the declaration of the instance.
""",
)

RANGE = FaultPage(
    "range",
    "a value is outside the declared range",
    "guard the row at the end of the range, limit the value with `min` or `max`, or widen the range; "
    "if the number has no limit, bound the exploration with `explore while`",
    """
Numbers have a range, and every value of a field, an argument or a record field must be inside it. Values do not wrap
around.

```fsm
machine Counter {
    n: 0..2
    initial state On
    event up from environment
    On on up do n = n + 1                 // fails the third time
}

system S { counter: Counter }
```

- Guard the row: `when n < 2`, with an `ignore` or another row for the other values.
- Limit the value if that is what the real system does: `n = min(n + 1, 2)`.
- Widen the range. Each additional value multiplies the number of states.
- If the number has no limit, such as an epoch, bound the exploration instead: `explore while counter.n < 2` in the
  system. Verdicts then hold within the bound (`fsm explain bound`).
""",
)

OVERFLOW = FaultPage(
    "overflow",
    "a channel or a list is full",
    "send only while there is room (`size(c) < N`), or raise the bound",
    """
Channels and lists are bounded. Exceeding the bound is a fault: in a real system, the additional message or item would
be lost or rejected, or would block the sender, and the spec must specify which.

```fsm
machine Node {
    initial state On
    event ping from environment
    event poll from wire
    On on ping do send wire.poll          // a second ping before the delivery
    On on poll
}
channel wire: fifo[1] to Node

system S { node: Node }
```

- Let the sender wait: `when size(wire) < 1`.
- Let messages be dropped where the real system drops them: `if size(wire) < 1 { send wire.poll }`.
- Or raise the bound to the number of messages that can be in transit.
""",
)

ENDLESS = FaultPage(
    "endless",
    "a round does not end: rows without a trigger are taken again and again",
    "let one of the rows change what its guard reads, or give it a trigger",
    """
Rows without a trigger are taken at the end of a step until none is enabled. If rows keep enabling each other, or calls
are nested without limit, the step never ends.

```fsm
machine Valve {
    hot: bool
    initial state Shut
    state Open
    event heat from environment
    Shut on heat do hot = true
    Shut -> Open when hot
    Open -> Shut when hot                 // and back, and forth
    ignore heat in Open
}

system S { valve: Valve }
```

- Make the guards exclude each other: `Open -> Shut when not hot`.
- Or give a row a trigger, so that each repetition is a separate step: `Open -> Shut on cool`.
""",
)

LOST = FaultPage(
    "lost",
    "a crash occurs while an instance is in a state that does not survive it",
    "add a row `on crash` that leaves the state, or declare the state `persistent`",
    """
A `volatile` or `transient` state does not survive a crash: an `on crash` row must specify the state of the instance
after the crash.

```fsm
machine Node {
    initial state Idle
    volatile state Working
    event begin, finish from environment
    Idle -> Working on begin
    Working -> Idle on finish             // no row for a crash while it works
    ignore begin in Working
    ignore finish in Idle
}

system S { node: Node  environment { node.begin node.finish crash } }
```

- Add the row: `Working -> Idle on crash`.
- Or declare the state `persistent`, if the real system stores it.
- A crash transition sends nothing. If a peer needs to notice the loss, give the peer a timeout (`after 30s`), or send
  it a message from `recover`.
""",
)

FAULTS = (UNHANDLED, OVERLAP, REENTRANCE, BUSY, NONE, RANGE, OVERFLOW, ENDLESS, LOST)


@cache
def fault_pages() -> dict[str, FaultPage]:
    """Every kind of fault by its name."""
    return {page.kind: page for page in FAULTS}
