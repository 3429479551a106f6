"""A machine of two states, which pages and editors are tested with."""

DOOR = """\
module door

machine Door {
    n: 0..9
    initial state Shut
    state Open
    event push from environment
    open:  Shut -> Open on push do n = n + 1
    close: Open -> Shut on push
}

system One { door: Door  invariant few: door.n < 3 }
"""
