"""`fsm cache`: the compiled code that `fsm verify` keeps."""

from __future__ import annotations

from time import time

from fsmdsl.cli import usage
from fsmdsl.cli.common import format_option, say_json
from fsmdsl.cli.messages import misuse, say
from fsmdsl.program import cache

DAY = 24 * 3600.0


@usage.command("cache")
@usage.argument("action", type=usage.choice(["show", "clear"]), default="show")
@format_option
def command(action: str, form: str) -> None:
    """Show or clear the cache of compiled code. Entries are removed automatically if they are old or the cache is too
    large.

    The cache is in $FSMDSL_CACHE, or else in $XDG_CACHE_HOME/fsmdsl or ~/.cache/fsmdsl.
    """
    place = cache.folder()
    if place is None:
        misuse("there is no home for a cache; name a folder in FSMDSL_CACHE")
    removed = cache.clear() if action == "clear" else 0
    objects, now, refusal = cache.stored_objects(), time(), cache.refusal()
    total = sum(x.bytes for x in objects)
    if form == "json":
        content = {"folder": str(place), "objects": len(objects), "bytes": total, "refused": refusal}
        say_json("cache", {**content, "removed": removed, "max_bytes": cache.MAX_BYTES, "max_age": cache.MAX_AGE})
        return
    if action == "clear":
        say(f"{removed} file{'s' * (removed != 1)} removed from {place}")
    else:
        say(f"{place}: {len(objects)} object{'s' * (len(objects) != 1)}, {total / 2**20:.1f} MiB")
        if objects:
            say(f"last used {_days(now - objects[0].used)} ago, the oldest {_days(now - objects[-1].used)} ago")
        say(f"kept for {cache.MAX_AGE / DAY:.0f} days after their last use, {cache.MAX_BYTES / 2**20:.0f} MiB at most")
    if refusal is not None:
        say(refusal, err=True)


def _days(seconds: float) -> str:
    days = int(max(seconds, 0) / DAY)
    return "less than a day" if days == 0 else f"{days} day{'s' * (days != 1)}"
