"""Made-up specs of any size: one machine of N transitions with guards and effects.

Usage: python made_up.py N > big.fsm
"""

from __future__ import annotations

import sys


def spec(transitions: int) -> str:
    """A machine whose states form a ring with shortcuts; ten transitions a state."""
    states = max(transitions // 10, 2)
    lines = ["module made_up", "", "machine Ring {", "    turns: 0..100", "    on_duty: bool", ""]
    lines += [f"    {'initial ' if i == 0 else ''}state S{i}" for i in range(states)]
    lines += ["", f"    event {', '.join(f'go{k}' for k in range(10))} from environment", "    action tell", ""]
    for n in range(transitions):
        source, k = divmod(n, 10)
        target = (source + k * k + 1) % states
        effect = "do { turns = turns + 1; tell }" if k % 3 == 0 else "do on_duty = not on_duty"
        guard = "when turns < 100 " if k % 3 == 0 else ""
        lines.append(f"    t{n}: S{source % states} -> S{target} on go{k} {guard}{effect}")
    return "\n".join([*lines, "}", ""])


if __name__ == "__main__":
    print(spec(int(sys.argv[1])), end="")
