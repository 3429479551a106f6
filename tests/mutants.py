"""The mutation campaign: small changes to the code that some test has to notice.

    python tests/mutants.py                               # go on until all of the sample has been tried
    python tests/mutants.py --count 500 --minutes 60      # the first 500 of the sample, an hour of them
    python tests/mutants.py --only search/lower   # of these folders
    python tests/mutants.py --again survived              # the survivors once more, with the tests as they are now
    python tests/mutants.py --show 1f6c3a2b9d40           # one mutant as a diff
    python tests/mutants.py --tier test --count 500       # other mutants, of all folders, and the tests of `make test`
    python tests/mutants.py --tier test --jobs 16         # in 16 processes

`mutation/sample.py` says which mutants there are, `mutation/relevance.py` which tests execute what they change,
`mutation/server.py` runs those. Nothing is changed in the working tree: the tests run in copies of it in
`build/mutants-0` and so on, one for each process. Results go to `tests/mutation/results.json` (`--tier test`:
`results-test.json`) after each mutant, without those of code that is no longer there, and `tests/mutation/summary.md`
is made from both; survivors that change no behaviour are argued one by one in `tests/mutation/argued.md`.

What the tests execute is recorded first, in `build/mutants-map`, and is good for all mutants until code or tests
change. It includes what they execute in processes that they start. A test that starts a process which cannot be
recorded, since it has an environment of its own or no `site`, runs with every mutant.
"""

from __future__ import annotations

import argparse
import difflib
import json
import multiprocessing
import re
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import tiers
from mutation.areas import ROOT, Campaign, campaign
from mutation.relevance import FIRST, Promise, Recording, Relevant, belongs, limits, recorded, relevant, unknown
from mutation.sample import Mutant, modules, mutants_of, sample, text_of
from mutation.tree import Request, Server, Tree

SUMMARY, ARGUED = (ROOT / "tests" / "mutation" / x for x in ("summary.md", "argued.md"))
SEEDS = {"full": 11, "test": 12}
MAX_NAMES = 20
"""The maximum number of test files that are printed by name."""
TITLES = {"full": "All tests", "test": "`make test` alone"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the tests ended with a mutant."""

    result: str
    """`killed`, `timeout` (which counts as killed), `resting` (noticed only by slow tests that `make test` runs another
    day), `survived` or, where not all tests have run, `undecided`."""
    by: str
    """The test that noticed."""
    seconds: float
    """Of the processor."""
    run: int
    """How many tests ran. A survivor that none ran for is code that no test executes."""


class Tests:
    """Files of tests: what they execute, and a server that has collected them."""

    def __init__(self, tree: Tree, tier: str, files: Sequence[str], recording: Recording | None) -> None:
        self.tree, self.tier, self.files = tree, tier, files
        self.server = Server(tree, files, tier)
        self.recording = recording or unknown(self.server.collected)
        self.sound: set[str] = set()
        """Tests that pass where nothing is changed, as far as that has been asked."""
        self.resting = self._resting() if tier == "test" else frozenset()
        """Tests that run in `make test` on other days than day 0 only. They come last."""
        self._sure()

    def tried(self, mutant: Mutant, quick: bool, promise: Promise) -> Outcome:
        """Run the tests that execute a mutant, which is in the copy, until one fails; that one must pass without it.
        `quick`: a mutant that needs a process of its own is undecided."""
        outcome = self._tried(mutant, quick, promise)
        while outcome.result in ("killed", "timeout") and not self._passes(outcome.by, mutant.path):
            self._leave_out(outcome.by)
            outcome = self._tried(mutant, quick, promise)
        promise.kills[outcome.by] += outcome.result == "killed"
        return replace(outcome, result="resting") if outcome.by in self.resting else outcome

    def _tried(self, mutant: Mutant, quick: bool, promise: Promise) -> Outcome:
        original = (ROOT / mutant.path).read_text("utf-8")
        chosen = self._today_first(relevant(self.recording, mutant.path, original, mutant.line, promise))
        request: Request = {"path": str(self.tree.path / mutant.path), "original": original}
        ended: Outcome | None = Outcome("survived", "", 0, 0)
        if chosen.tests:
            ended = self._asked(self.server, request, chosen.tests)
        if ended is None:
            raise RuntimeError(f"{mutant.key}: the server has ended")
        if ended.result == "unchanged" or (chosen.imported and ended.result == "survived"):
            if quick:
                return replace(ended, result="undecided", by="")
            ended = self._once(request, chosen.all if chosen.imported else chosen.tests)
        return ended

    def _resting(self) -> frozenset[str]:
        today = Server(self.tree, self.files, self.tier, turns=tiers.TURNS_OF_MAKE_TEST)
        today.close()
        return frozenset(self.server.collected) - {*today.collected}

    def _today_first(self, chosen: Relevant) -> Relevant:
        tests, every = (tuple(sorted(x, key=self.resting.__contains__)) for x in (chosen.tests, chosen.all))
        return replace(chosen, tests=tests, all=every)

    def _asked(self, server: Server, request: Request, tests: Sequence[str]) -> Outcome | None:
        answer = server.ask({**request, "tests": limits(self.recording, tests)})
        if answer is None:
            return None
        return Outcome(str(answer["result"]), str(answer["by"]), float(answer["seconds"]), int(answer["run"]))

    def _passes(self, test: str, path: str) -> bool:
        """Does a test pass where nothing is changed? `import` and the like are no tests."""
        if test in self.sound or test not in self.recording.seconds:
            return True
        mutated = (self.tree.path / path).read_text("utf-8")
        self.tree.put(path, (ROOT / path).read_text("utf-8"))
        ended = self._asked(self.server, {"path": ""}, [test])
        self.tree.put(path, mutated)
        if ended is None or ended.result != "survived":
            return False
        self.sound.add(test)
        return True

    def _leave_out(self, test: str) -> None:
        print(f"fails as it is, and is left out: {test}", flush=True)
        seconds = {name: x for name, x in self.recording.seconds.items() if name != test}
        self.recording = replace(self.recording, seconds=seconds)

    def _sure(self) -> None:
        """Nothing may fail where nothing is changed, whatever the order."""
        while True:
            some = sorted(self.recording.seconds, key=self.recording.seconds.__getitem__)[:50]
            ended = self._asked(self.server, {"path": ""}, some)
            if ended is None or not ended.run:
                raise RuntimeError(f"fails as it is: {ended}")
            if ended.result == "survived":
                break
            self._leave_out(ended.by)
        total = sum(self.recording.seconds.values())
        files = " ".join(self.files) if len(self.files) <= MAX_NAMES else f"{len(self.files)} files"
        print(f"{len(self.recording.seconds)} tests, {total:.0f} s: {files}", flush=True)

    def _once(self, request: Request, tests: Sequence[str]) -> Outcome:
        """Run them in processes that import the mutated file. The first one collects no more than the files of the
        tests that promise most."""
        seconds, run = 0.0, 0
        for part in filter(None, (tests[:FIRST], tests[FIRST:])):
            files = [x for x in self.files if any(belongs(test, x) for test in part)]
            server = Server(self.tree, files, self.tier, "once")
            try:
                ended = self._asked(server, request, part) or Outcome("killed", "import", 0, 0)
            finally:
                server.close()
            seconds, run = seconds + ended.seconds, run + ended.run
            if ended.result != "survived":
                return replace(ended, seconds=round(seconds, 2), run=run)
        return Outcome("survived", "", round(seconds, 2), run)


class Stages:
    """The tests of a campaign, each stage started when a mutant needs it first. Areas may have a stage in common."""

    def __init__(self, of: Campaign, tree: Tree, given: argparse.Namespace, paths: Sequence[str]) -> None:
        self.of, self.tree, self.quick, self.jobs = of, tree, bool(given.quick), int(given.jobs)
        self.paths = paths
        """The files with mutants."""
        self.kills = noticed()
        self.started: dict[tuple[str, ...], Tests] = {}

    def tried(self, mutant: Mutant, text: str) -> Outcome:
        """The tests that notice most mutants of an area, then the others."""
        seconds, run = 0.0, 0
        area = self.of.area_of(mutant.path)
        promise = Promise(self.kills, frozenset(self.of.areas[area][0]))
        stages = self.of.areas[area][:1] if self.quick else self.of.needed(area)
        self._keep(stages)
        for files in stages:
            tests = self._tests(files)
            self.tree.put(mutant.path, text)
            try:
                ended = tests.tried(mutant, self.quick, promise)
            finally:
                self.tree.put(mutant.path, (ROOT / mutant.path).read_text("utf-8"))
            seconds, run = round(seconds + ended.seconds, 2), run + ended.run
            if ended.result != "survived":
                return replace(ended, seconds=seconds, run=run)
        return Outcome("undecided" if self.quick and len(self.of.areas[area]) > 1 else "survived", "", seconds, run)

    def _tests(self, files: tuple[str, ...]) -> Tests:
        if files not in self.started:
            paths = [x for x in self.paths if files in self.of.areas[self.of.area_of(x)]]
            recording = None if self.quick else recorded(self.of, self.tree, files, paths, self.jobs)
            self.started[files] = Tests(self.tree, self.of.tier, files, recording)
        return self.started[files]

    def _keep(self, stages: Sequence[tuple[str, ...]]) -> None:
        """End the servers of other areas."""
        for files in [x for x in self.started if x not in stages]:
            self.started.pop(files).server.close()


# Results -------------------------------------------------------------------------------------------------------------

Result = dict[str, object]
Results = dict[str, Result]


def results_of(of: Campaign) -> dict[str, Any]:
    """The seed, how many mutants of each area were sampled, and the results."""
    empty: dict[str, Any] = {"seed": SEEDS[of.tier], "sampled": {}, "mutants": {}}
    return {**empty, **json.loads(of.results.read_text("utf-8"))} if of.results.exists() else empty


def saved(of: Campaign, seed: int, sampled: Mapping[str, int], results: Results) -> None:
    """The results of a campaign, and the summary of both."""
    document = {"seed": seed, "sampled": sampled, "mutants": dict(sorted(results.items(), key=_place))}
    of.results.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    SUMMARY.write_text(summary(), "utf-8")


def _place(result: tuple[str, dict[str, object]]) -> tuple[str, int, str]:
    """By file and line."""
    return str(result[1]["path"]), int(str(result[1]["line"])), result[0]


RESULTS = ("killed", "timeout", "resting", "argued", "survived", "undecided")
COLUMNS = ("folder", "sampled", "run", *RESULTS, "killed of not argued")


def summary() -> str:
    """The figures by folder, and the survivors."""
    lines = ["# The mutation campaign", "", "Made by `python tests/mutants.py`; edits are lost."]
    for of in (campaign("full"), campaign("test")):
        document = results_of(of)
        if document["mutants"]:
            lines += ["", f"## {TITLES[of.tier]} (seed {document['seed']})", "", *_section(of, document)]
    return "\n".join(lines) + "\n"


def _section(of: Campaign, document: Mapping[str, Any]) -> list[str]:
    argued = set(re.findall(r"\b[0-9a-f]{12}\b", ARGUED.read_text("utf-8"))) if ARGUED.exists() else set()
    results: Results = document["mutants"]
    lines = [f"| {' | '.join(COLUMNS)} |", "| --- |" + " ---: |" * (len(COLUMNS) - 1)]
    for area in [*of.areas, "all"]:
        chosen = {k: r for k, r in results.items() if area in ("all", of.area_of(str(r["path"])))}
        counted = Counter("argued" if k in argued else str(r["result"]) for k, r in chosen.items())
        killed = counted["killed"] + counted["timeout"]
        share = f"{killed / max(1, len(chosen) - counted['argued']):.1%}" if chosen else ""
        drawn = sum(document["sampled"].values()) if area == "all" else document["sampled"].get(area, 0)
        figures = [drawn, len(chosen), *(counted[x] for x in RESULTS)]
        lines.append(f"| {area} | {' | '.join(map(str, figures))} | {share} |")
    for result in ("survived", "undecided"):
        lines += ["", f"### {result.capitalize()}, and nobody has argued", ""]
        left = [(k, r) for k, r in sorted(results.items(), key=_place) if r["result"] == result and k not in argued]
        for key, r in left:
            lines += [f"- {key} {r['path']}:{r['line']} ({r['operator']})", f"  `{r['before']}`", f"  `{r['after']}`"]
        lines += [] if left else ["None."]
    return lines


def run(given: argparse.Namespace) -> None:
    """Try what is left of the sample, folder by folder and file by file."""
    of = campaign(given.tier)
    seed = SEEDS[of.tier] if given.seed is None else given.seed
    document = results_of(of)
    mutants = sample(of, seed, given.only)
    there, looked_at = {x.key for x in mutants}, {*modules(of, given.only)}
    results: Results = {k: r for k, r in document["mutants"].items() if k in there or r["path"] not in looked_at}
    print(f"{len(mutants)} mutants, {len(results)} tried before", flush=True)
    drawn = mutants if given.count is None else mutants[: given.count]
    sampled = {**document["sampled"], **Counter(of.area_of(x.path) for x in drawn)}
    again = (given.again, None if given.quick else "undecided")
    todo = [x for x in drawn if x.key not in results or results[x.key]["result"] in again]
    end = time.monotonic() + 60 * (given.minutes or 1e9)
    order = list(of.areas)
    todo.sort(key=lambda x: (order.index(of.area_of(x.path)), x.path))
    numbers = multiprocessing.Queue()  # type: ignore[var-annotated]
    for n in range(given.jobs):
        numbers.put(n)
    with multiprocessing.get_context("fork").Pool(given.jobs, Worker.begin, (given, todo, numbers)) as workers:
        for key, result in workers.imap_unordered(Worker.one, todo):
            if result is not None:
                results[key] = result
                saved(of, seed, sampled, results)
            if time.monotonic() > end:
                break


class Worker:
    """A process that tries some of the mutants, in a copy of its own. The first process alone writes results."""

    stages: Stages

    @classmethod
    def begin(cls, given: argparse.Namespace, todo: Sequence[Mutant], numbers: multiprocessing.Queue[int]) -> None:
        """Make the copy."""
        tree = Tree(ROOT / "build" / f"mutants-{numbers.get()}")
        tree.copied()
        cls.stages = Stages(campaign(given.tier), tree, given, sorted({x.path for x in todo}))

    @classmethod
    def one(cls, mutant: Mutant) -> tuple[str, Result | None]:
        """Try a mutant that is Python at all, and still there: the file may have been edited meanwhile."""
        try:
            text = text_of(mutant)
            compile(text, mutant.path, "exec")
        except (KeyError, SyntaxError, ValueError):
            return mutant.key, None
        ended = cls.stages.tried(mutant, text)
        what = f"{ended.result:8} {ended.seconds:5.1f} s {ended.run:4}"
        print(f"{what}  {mutant.key} {mutant.path}:{mutant.line} {ended.by}", flush=True)
        result = {**asdict(mutant), **asdict(ended)}
        del result["key"]
        return mutant.key, result


def noticed() -> Counter[str]:
    """Which tests have noticed mutants in either campaign, and how many."""
    found = [r for tier in ("full", "test") for r in results_of(campaign(tier))["mutants"].values()]
    return Counter(str(r["by"]) for r in found if r["by"])


def show(key: str) -> None:
    """A mutant as a diff."""
    mutant = next(x for path in campaign("test").files() for x in mutants_of(path) if x.key == key)
    before, after = (ROOT / mutant.path).read_text("utf-8"), text_of(mutant)
    sys.stdout.writelines(
        difflib.unified_diff(before.splitlines(True), after.splitlines(True), mutant.path, mutant.path)
    )


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description="Small changes to the code that some test has to notice.")
    parser.add_argument("--tier", choices=["full", "test"], default="full", help="which tests may notice")
    parser.add_argument("--seed", type=int, help="which sample; each tier has its own")
    parser.add_argument("--count", type=int, help="how much of the sample; all of it unless given")
    parser.add_argument("--minutes", type=float, help="stop after so many")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes; each takes half a gigabyte or more")
    parser.add_argument("--only", nargs="*", default=(), help="parts of paths")
    parser.add_argument("--again", choices=[x for x in RESULTS if x != "argued"], help="those that ended so")
    parser.add_argument("--quick", action="store_true", help="the first stage only; others stay undecided")
    parser.add_argument("--show", metavar="KEY", help="print one mutant as a diff")
    given = parser.parse_args()
    if given.show:
        show(given.show)
    else:
        run(given)


if __name__ == "__main__":
    main()
