"""How soon an editor is answered: `python benchmarks/editing/latency.py`; writes `benchmarks/results/editing.json`.

A file of 2,000 lines is made of copies of the specs in `specs/grove`; `fsm lsp` runs as a process and is talked to as
an editor does. For each kind of edit: the time from sending it until the diagnostics that it changes have come, and the
processor time that the server has spent on it, which other work on the machine does not lengthen. The same edits are
also read from scratch, as `fsm check` would, in this process: that is the peer.

Verdicts are timed in such a file with three more systems, of 10^3, 10^4 and 10^5 states: copies of the reference model,
each with machines of its own, of which an edit touches a transition.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from editor import WISHES, Editor  # noqa: E402
from hived_lite import hived_lite  # noqa: E402

from fsmdsl.check import check  # noqa: E402
from fsmdsl.editor.editing import OpenDocuments  # noqa: E402
from fsmdsl.model.resolve import resolve  # noqa: E402
from fsmdsl.syntax.parse import parse  # noqa: E402
from fsmdsl.text.source import Source  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "editing.json"
LINES = 2_000
TIMES = 5
PAUSE = 4.0
"""Seconds from one edit to the next where verdicts are timed by size: what follows the verdict has ended by then."""

DECLARED = re.compile(r"(?m)^(?:machine|system|enum|let|opaque|channel|scenario) (\w+)")


def text_of(lines: int) -> str:
    """Copies of a spec, each with its own names, up to a number of lines."""
    spec = (ROOT / "specs" / "grove" / "grove.fsm").read_text("utf-8")
    text, copy = "module made\n", 0
    while text.count("\n") < lines:
        text += renamed(spec, f"_{copy}")
        copy += 1
    return text


def renamed(spec: str, suffix: str) -> str:
    """What a spec declares, under other names."""
    names = sorted(set(DECLARED.findall(spec)), key=len, reverse=True)
    pattern = re.compile(rf"\b({'|'.join(names)})\b")
    return pattern.sub(lambda match: match[1] + suffix, re.sub(r"(?m)^(module|import|source) .*$", "", spec))


EDITS: dict[str, tuple[str, str, str]] = {
    "a name that is not declared": ("F4: Scheduled -> Pending ", "F4: Scheduled -> Pendin ", "FSM101"),
    "a line that is not finished": ("F4: Scheduled -> Pending ", "F4: Scheduled ->  ", "FSM001"),
    "a guard that is never true": ("Pending    on preempted  do", "Pending    on preempted  when 1 > 2 do", "FSM209"),
    "a state that nothing leads to": ("            state Binding ", "    state Lost   state Binding ", "FSM201"),
}
"""Kinds of edits: what is replaced in the middle of the file, by what, and the rule that is broken then."""

SIZES = {"10^3": (3, 4, 2), "10^4": (3, 6, 2), "10^5": (3, 8, 2)}
"""Groups, cells, and cells for each group: 812, 11,918 and 96,216 states."""

TOUCHED = {
    "holds": ("c in {Free, Reserved}\n", "c in {Free, Reserved} and 0 < N\n"),
    "violated": ("on pod_deleted  do user = none", "on pod_deleted  when 0 < N"),
}
"""What is replaced in a transition, by what (`N` is another number each time), and the verdict then."""


def main() -> None:
    """Measure, print, and write the results."""
    text = text_of(LINES)
    results: dict[str, Any] = {
        "lines": text.count("\n"),
        "times": TIMES,
        "processors": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    with tempfile.TemporaryDirectory() as folder:
        results |= measured(Path(folder), text)
    results["peer"] = {name: from_scratch(text, edit) for name, edit in edits_of(text).items()}
    results["load_after"] = os.getloadavg()[0]
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", "utf-8")
    print(json.dumps(results, indent=2))


def edits_of(text: str) -> dict[str, tuple[str, str]]:
    """For each kind of edit the text before and after, in the middle of the file."""
    edits = {}
    for name, (old, new, _) in EDITS.items():
        place = text.index(old, len(text) // 3)
        edits[name] = (text, text[:place] + new + text[place + len(old) :])
    return edits


def measured(folder: Path, text: str) -> dict[str, Any]:
    """Through the protocol."""
    path = folder / "made.fsm"
    path.write_text(text, "utf-8")
    e = Editor([sys.executable, "-m", "fsmdsl", "lsp"], folder / "log.txt")
    e.begin([folder], explore=False)
    uri = path.as_uri()
    begun = perf_counter()
    e.open(uri, text)
    e.settled(uri, lambda d: True)
    results: dict[str, Any] = {"open_ms": ms(perf_counter() - begun), "edits": {}}
    for name, (before, after) in edits_of(text).items():
        code = EDITS[name][2]
        spans = [timed(e, uri, t, has(code, t is after)) for _ in range(TIMES) for t in (after, before)]
        results["edits"][name] = summarize(spans)
    results["completion after an edit"] = summarize([completed(e, uri, text, n) for n in range(TIMES)])
    e.end()
    assert e.log == "", e.log
    results["verdicts"] = verdicts(folder, uri, text)
    sized = text + "".join(renamed(hived_lite(*size), f"_of_{n}") for n, size in enumerate(SIZES.values()))
    results["verdicts by size"] = verdicts_by_size(folder, uri, sized)
    return results


def has(code: str, expected: bool) -> Callable[[list[dict[str, Any]]], bool]:
    """Whether diagnostics have a code, or have it not."""
    return lambda diagnostics: any(d["code"] == code for d in diagnostics) is expected


def timed(e: Editor, uri: str, text: str, done: Callable[[list[dict[str, Any]]], bool]) -> tuple[float, float]:
    """Seconds until the diagnostics are as they should be after a change, and those that the server has computed."""
    spent, begun = processor(e.process.pid), perf_counter()
    change(e, uri, text)
    e.settled(uri, done)
    return perf_counter() - begun, processor(e.process.pid) - spent


def change(e: Editor, uri: str, text: str) -> None:
    """Replace what differs, as an editor does."""
    before = e.texts[uri]
    pairs = enumerate(zip(before, text, strict=False))
    first = next((n for n, (a, b) in pairs if a != b), min(len(before), len(text)))
    behind = enumerate(zip(reversed(before[first:]), reversed(text[first:]), strict=False))
    last = next((n for n, (a, b) in behind if a != b), min(len(before), len(text)) - first)
    e.edit_between(uri, first, len(before) - last, text[first : len(text) - last])


def completed(e: Editor, uri: str, text: str, n: int) -> tuple[float, float]:
    """A completion right after a change: it waits for the text to be read."""
    place = text.index("F4: Scheduled -> ", len(text) // 3) + len("F4: Scheduled -> ")
    after = text[:place] + "B" * (n % 2) + text[place:]
    spent, begun = processor(e.process.pid), perf_counter()
    change(e, uri, after)
    answer = e.ask("textDocument/completion", e.at(uri, after[place - 60 : place], 60))
    assert any(x["label"] == "Binding" for x in answer["items"])
    return perf_counter() - begun, processor(e.process.pid) - spent


def verdicts(folder: Path, uri: str, text: str) -> dict[str, Any]:
    """Until what an edit breaks is marked: an invariant of a machine, found by exploring its systems."""
    e = Editor([sys.executable, "-m", "fsmdsl", "lsp"], folder / "log2.txt")
    e.begin([folder])
    e.open(uri, text)
    titles: list[str] = []
    systems = len(re.findall(r"(?m)^system ", text))
    while sum(x.startswith("holds: ") for x in titles) < systems:
        titles = [x["command"]["title"] for x in e.ask("textDocument/codeLens", e.whole(uri))]
    place = text.index("\n}\n", text.index("machine PodGang_1 ")) + 1
    spans = []
    for n in range(TIMES):
        broken = f"{text[:place]}    invariant broken: not Scheduled or {n} == {n + 1}\n{text[place:]}"
        spans.append(timed(e, uri, broken, has("FSM301", True)))
        timed(e, uri, text, has("FSM301", False))
    e.end()
    assert e.log == "", e.log
    return {"systems of the file": systems, "an invariant that an edit breaks": summarize(spans)}


def verdicts_by_size(folder: Path, uri: str, text: str) -> dict[str, Any]:
    """Until the verdict is there after an edit of a transition: that all holds, or what is violated, marked."""
    workspace: Any = WISHES["workspace"]
    workspace["codeLens"] = {"refreshSupport": True}
    e = Editor([sys.executable, "-m", "fsmdsl", "lsp"], folder / "log3.txt")
    e.begin([folder])
    e.open(uri, text)
    await_verdicts(e, len(re.findall(r"(?m)^system ", text)), uri)
    results: dict[str, Any] = {"lines": text.count("\n")}
    for n, size in enumerate(SIZES):
        for verdict, (old, new) in TOUCHED.items():
            place = text.index(old, text.index(f"machine Cell_of_{n} "))
            spans = []
            for number in range(1, TIMES + 1):
                sleep(PAUSE)
                e.ask("textDocument/codeLens", e.whole(uri))
                edited = text[:place] + new.replace("N", str(number)) + text[place + len(old) :]
                spans.append(judged(e, uri, edited, verdict))
                change(e, uri, text)
                e.settled(uri, has("FSM301", False))
            results[f"{size} states, {verdict}"] = summarize(spans)
    e.end()
    return results


def await_verdicts(e: Editor, systems: int, uri: str) -> None:
    """Wait for the verdicts on all systems."""
    verdicts = 0
    while verdicts < systems:
        lenses = e.ask("textDocument/codeLens", e.whole(uri))
        verdicts = sum(bool(re.match("(holds|violated|bounded): ", x["command"]["title"])) for x in lenses)


def judged(e: Editor, uri: str, text: str, verdict: str) -> tuple[float, float]:
    """As `timed`, with the processor time of the process that explores, too."""
    e.messages.clear()
    spent, begun = sum(map(processor, family(e.process.pid))), perf_counter()
    change(e, uri, text)
    if verdict == "violated":
        e.settled(uri, has("FSM301", True))
    else:
        # The first that there is to ask about again is the verdict.
        e.until(lambda: any(x["method"] == "workspace/codeLens/refresh" for x in e.messages))
    return perf_counter() - begun, sum(map(processor, family(e.process.pid))) - spent


def family(pid: int) -> list[int]:
    """A process and those that it has started."""
    pids = [pid]
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(path.read_text("ascii").rpartition(")")[2].split()[1]) == pid:
                pids.append(int(path.parent.name))
    return pids


def from_scratch(text: str, texts: tuple[str, str]) -> dict[str, float]:
    """What the same edit costs without what was known before, and with it, in this process (processor time)."""
    whole, parts = [], []
    documents = OpenDocuments()
    for t in texts:
        documents.open("made.fsm", t)
        _ = documents.analysis("made.fsm").diagnostics
    for n in range(TIMES):
        t = texts[n % 2]
        begun = process_time()
        resolved = resolve([parse(Source("made.fsm", t)).module])
        if resolved.model is not None:
            check(resolved.model)
        whole.append(process_time() - begun)
        begun = process_time()
        documents.open("made.fsm", t)
        _ = documents.analysis("made.fsm").diagnostics
        parts.append(process_time() - begun)
    return {
        "from scratch_ms": ms(median(whole)),
        "after an edit_ms": ms(median(parts)),
        "times faster": round(median(whole) / median(parts), 1),
    }


def processor(pid: int) -> float:
    """The processor time that a process has used, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def summarize(spans: list[tuple[float, float]]) -> dict[str, float]:
    """The least (which a busy machine lengthens least), the middle, the worst; processor time on average."""
    walls, computed = [s[0] for s in spans], [s[1] for s in spans]
    return {
        "least_ms": ms(min(walls)),
        "median_ms": ms(median(walls)),
        "worst_ms": ms(max(walls)),
        "processor_ms": ms(sum(computed) / len(computed)),
    }


def ms(seconds: float) -> float:
    """Milliseconds, rounded."""
    return round(seconds * 1000, 1)


if __name__ == "__main__":
    main()
