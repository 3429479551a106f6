"""The mutation campaign: small changes to the code that some test has to notice.

    python tests/mutants.py                               # go on until all of the sample has been tried
    python tests/mutants.py --count 500 --minutes 60      # the first 500 of the sample, an hour of them
    python tests/mutants.py --only search/lower   # of these folders
    python tests/mutants.py --again survived              # the survivors once more, with the tests as they are now
    python tests/mutants.py --show 1f6c3a2b9d40           # one mutant as a diff

`mutation/sample.py` says which mutants there are, `mutation/relevance.py` which tests execute what they change,
`mutation/server.py` runs those. Nothing is changed in the working tree: the tests run in a copy of it in
`build/mutants`. Results go to `tests/mutation/results.json` after each mutant, without those of code that is no longer
there, and `tests/mutation/summary.md` is made from them; survivors that change no behaviour are argued one by one in
`tests/mutation/argued.md`.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby

from mutation.areas import ROOT, TESTS, area_of, names
from mutation.relevance import limits, recorded, relevant, unknown
from mutation.sample import Mutant, files, mutants_of, sample, text_of
from mutation.tree import TREE, Server, copied, put

RESULTS, SUMMARY, ARGUED = (ROOT / "tests" / "mutation" / x for x in ("results.json", "summary.md", "argued.md"))
SEED = 11


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the tests ended with a mutant."""

    result: str
    """`killed`, `timeout`, `survived` or, where not all tests have run, `undecided`. A timeout counts as killed."""
    by: str
    """The test that noticed."""
    seconds: float
    """Of the processor."""
    run: int
    """How many tests ran. A survivor that none ran for is code that no test executes."""


class Tests:
    """Files of tests: what they execute, and a server that has collected them."""

    def __init__(self, files: Sequence[str], paths: Sequence[str], results: Results, quick: bool) -> None:
        self.files, self.quick = files, quick
        self.kills = Counter(str(r["by"]) for r in results.values() if r["by"])
        recording = None if quick else recorded(files, paths)
        self.server = Server(files)
        self.recording = recording or unknown(self.server.collected)
        self.sound: set[str] = set()
        """Tests that pass where nothing is changed, as far as that has been asked."""
        self._sure()

    def tried(self, mutant: Mutant) -> Outcome:
        """Run the tests that execute a mutant, which is in the copy, until one fails; that one must pass without it."""
        found = self._tried(mutant)
        while found.result == "killed" and not self._passes(found.by, mutant.path):
            print(f"fails as it is, and is left out: {found.by}", flush=True)
            seconds = {test: x for test, x in self.recording.seconds.items() if test != found.by}
            self.recording = replace(self.recording, seconds=seconds)
            found = self._tried(mutant)
        self.kills[found.by] += found.result == "killed"
        return found

    def _tried(self, mutant: Mutant) -> Outcome:
        original = (ROOT / mutant.path).read_text("utf-8")
        chosen = relevant(self.recording, mutant.path, original, mutant.line, self.kills)
        request: dict[str, object] = {"path": str(TREE / mutant.path), "original": original}
        answer: dict[str, object] | None = {"result": "survived", "by": "", "seconds": 0, "run": 0}
        if chosen.tests:
            answer = self.server.ask({**request, "tests": limits(self.recording, chosen.tests)})
        if answer is None:
            raise SystemExit(f"{mutant.key}: the server has ended")
        if answer["result"] == "unchanged" or (chosen.imported and answer["result"] == "survived"):
            if self.quick:
                return Outcome("undecided", "", float(str(answer["seconds"])), int(str(answer["run"])))
            tests = chosen.all if chosen.imported else chosen.tests
            answer = self._once({**request, "tests": limits(self.recording, tests)})
        seconds, run = float(str(answer["seconds"])), int(str(answer["run"]))
        return Outcome(str(answer["result"]), str(answer["by"]), seconds, run)

    def _passes(self, test: str, path: str) -> bool:
        """Does a test pass where nothing is changed? `import` and the like are no tests."""
        if test in self.sound or test not in self.recording.seconds:
            return True
        mutated = (TREE / path).read_text("utf-8")
        put(path, (ROOT / path).read_text("utf-8"))
        answer = self.server.ask({"tests": limits(self.recording, [test]), "path": ""})
        put(path, mutated)
        if answer is None or answer["result"] != "survived":
            return False
        self.sound.add(test)
        return True

    def _sure(self) -> None:
        """Nothing may fail where nothing is changed, whatever the order."""
        some = sorted(self.recording.seconds, key=self.recording.seconds.__getitem__)[:50]
        answer = self.server.ask({"tests": limits(self.recording, some), "path": ""})
        if answer is None or answer["result"] != "survived" or not answer["run"]:
            raise SystemExit(f"fails as it is: {answer}")
        total = sum(self.recording.seconds.values())
        print(f"{len(self.recording.seconds)} tests, {total:.0f} s: {' '.join(self.files)}", flush=True)

    def _once(self, request: dict[str, object]) -> dict[str, object]:
        """Run them in a process that imports the mutated file."""
        server = Server(self.files, "once")
        try:
            answer = server.ask(request)
        finally:
            server.close()
        return answer or {"result": "killed", "by": "import", "seconds": 0, "run": 0}


class Area:
    """The tests of a folder, the slow ones started when a mutant needs them first."""

    def __init__(self, name: str, paths: Sequence[str], results: Results, quick: bool) -> None:
        self.name, self.paths, self.results, self.quick = name, paths, results, quick
        self.todo = [names(x) for x in TESTS[name][: 1 if quick else None]]
        self.started: list[Tests] = []

    def tried(self, mutant: Mutant, text: str) -> Outcome:
        """The fast tests, then the slow ones."""
        seconds, run = 0.0, 0
        for n, chosen in enumerate(self.todo):
            if n == len(self.started):
                self.started.append(Tests(chosen, self.paths, self.results, self.quick))
            put(mutant.path, text)
            try:
                ended = self.started[n].tried(mutant)
            finally:
                put(mutant.path, (ROOT / mutant.path).read_text("utf-8"))
            seconds, run = round(seconds + ended.seconds, 2), run + ended.run
            if ended.result != "survived":
                return replace(ended, seconds=seconds, run=run)
        return Outcome("undecided" if self.quick and len(TESTS[self.name]) > 1 else "survived", "", seconds, run)

    def close(self) -> None:
        """End the servers."""
        for tests in self.started:
            tests.server.close()


# Results -------------------------------------------------------------------------------------------------------------

Results = dict[str, dict[str, object]]


def saved(seed: int, sampled: Mapping[str, int], results: Results) -> None:
    """Both files, from the results."""
    shown = {"seed": seed, "sampled": sampled, "mutants": dict(sorted(results.items(), key=_place))}
    RESULTS.write_text(json.dumps(shown, indent=1) + "\n", "utf-8")
    SUMMARY.write_text(summary(seed, sampled, results), "utf-8")


def _place(result: tuple[str, dict[str, object]]) -> tuple[str, int, str]:
    """By file and line."""
    return str(result[1]["path"]), int(str(result[1]["line"])), result[0]


COLUMNS = ("folder", "sampled", "run", "killed", "timeout", "argued", "survived", "undecided", "killed of not argued")


def summary(seed: int, sampled: Mapping[str, int], results: Results) -> str:
    """The figures by folder, and the survivors."""
    argued = set(re.findall(r"\b[0-9a-f]{12}\b", ARGUED.read_text("utf-8"))) if ARGUED.exists() else set()
    lines = ["# The mutation campaign", "", f"Made by `python tests/mutants.py --seed {seed}`; edits are lost.", ""]
    lines += [f"| {' | '.join(COLUMNS)} |", "| --- |" + " ---: |" * (len(COLUMNS) - 1)]
    for area in [*TESTS, "all"]:
        chosen = {k: r for k, r in results.items() if area in ("all", area_of(str(r["path"])))}
        counted = Counter("argued" if k in argued else str(r["result"]) for k, r in chosen.items())
        killed = counted["killed"] + counted["timeout"]
        share = f"{killed / max(1, len(chosen) - counted['argued']):.1%}" if chosen else ""
        drawn = sum(sampled.values()) if area == "all" else sampled.get(area, 0)
        figures = [drawn, len(chosen), *(counted[x] for x in COLUMNS[3:-1])]
        lines.append(f"| {area} | {' | '.join(map(str, figures))} | {share} |")
    for result in ("survived", "undecided"):
        lines += ["", f"## {result.capitalize()}, and nobody has argued", ""]
        found = [(k, r) for k, r in sorted(results.items(), key=_place) if r["result"] == result and k not in argued]
        for key, r in found:
            lines += [f"- {key} {r['path']}:{r['line']} ({r['operator']})", f"  `{r['before']}`", f"  `{r['after']}`"]
        lines += [] if found else ["None."]
    return "\n".join(lines) + "\n"


def campaign(given: argparse.Namespace) -> None:
    """Try what is left of the sample, folder by folder and file by file."""
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {"mutants": {}}
    listed = sample(given.seed, given.only)
    there, looked_at = {x.key for x in listed}, {*files(given.only)}
    results: Results = {k: r for k, r in known["mutants"].items() if k in there or r["path"] not in looked_at}
    print(f"{len(listed)} mutants, {len(results)} tried before", flush=True)
    chosen = listed if given.count is None else listed[: given.count]
    sampled = {**known.get("sampled", {}), **Counter(area_of(x.path) for x in chosen)}
    again = (given.again, None if given.quick else "undecided")
    todo = [x for x in chosen if x.key not in results or results[x.key]["result"] in again]
    copied()
    end = time.monotonic() + 60 * (given.minutes or 1e9)
    order = list(TESTS)
    todo.sort(key=lambda x: (order.index(area_of(x.path)), x.path))
    for name, group in groupby(todo, lambda x: area_of(x.path)):
        mutants = list(group)
        paths = sorted({x.path for x in mutants})
        area = Area(name, paths, results, given.quick)
        for mutant in mutants:
            if time.monotonic() > end:
                break
            one(area, mutant, results)
            saved(given.seed, sampled, results)
        area.close()


def one(area: Area, mutant: Mutant, results: Results) -> None:
    """Try a mutant that is Python at all, and still there: the file may have been edited meanwhile."""
    try:
        text = text_of(mutant)
        compile(text, mutant.path, "exec")
    except (KeyError, SyntaxError, ValueError):
        return
    ended = area.tried(mutant, text)
    results[mutant.key] = {**asdict(mutant), **asdict(ended)}
    del results[mutant.key]["key"]
    what = f"{ended.result:8} {ended.seconds:5.1f} s {ended.run:4}"
    print(f"{what}  {mutant.key} {mutant.path}:{mutant.line} {ended.by}", flush=True)


def show(key: str) -> None:
    """A mutant as a diff."""
    mutant = next(x for path in files(()) for x in mutants_of(path) if x.key == key)
    before, after = (ROOT / mutant.path).read_text("utf-8"), text_of(mutant)
    sys.stdout.writelines(
        difflib.unified_diff(before.splitlines(True), after.splitlines(True), mutant.path, mutant.path)
    )


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description="Small changes to the code that some test has to notice.")
    parser.add_argument("--seed", type=int, default=SEED, help="which sample")
    parser.add_argument("--count", type=int, help="how much of the sample; all of it unless given")
    parser.add_argument("--minutes", type=float, help="stop after so many")
    parser.add_argument("--only", nargs="*", default=(), help="parts of paths")
    parser.add_argument("--again", choices=["survived", "undecided", "killed", "timeout"], help="those that ended so")
    parser.add_argument("--quick", action="store_true", help="the first stage only; others stay undecided")
    parser.add_argument("--show", metavar="KEY", help="print one mutant as a diff")
    given = parser.parse_args()
    if given.show:
        show(given.show)
    else:
        campaign(given)


if __name__ == "__main__":
    main()
