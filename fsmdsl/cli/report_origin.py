"""Where a report comes from: when it was made, of which commit, by what command; and what has changed since another."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from fsmdsl import model as m
from fsmdsl.cli.common import chosen
from fsmdsl.cli.messages import misuse
from fsmdsl.cli.versions import Revisions, commit_of, model_of, versions
from fsmdsl.report.anchors import anchor
from fsmdsl.report.compare import Compared, compare
from fsmdsl.report.compare.render_text import MARKS, sentence
from fsmdsl.report.views import ChangedView, Origin


def origin(paths: Sequence[str]) -> Origin:
    """Now, or at `SOURCE_DATE_EPOCH`, for pages that are to be the same when they are made again."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
    return Origin(f"{moment:%Y-%m-%d %H:%M} UTC", commit_of(chosen(paths)[0]), shlex.join(["fsm", *sys.argv[1:]]))


def changes(since: str, paths: Sequence[str], model: m.Model, *, as_documented: bool) -> Sequence[ChangedView]:
    """What has changed in the texts since another version of the same path; nothing is run for it."""
    if len(chosen(paths)) > 1:
        misuse("`--since` compares one file or folder; give one path")
    before, _ = versions(since, chosen(paths)[0], None)
    revisions = Revisions()
    old = model_of(before, revisions, as_documented)
    return [_changed(x, model, revisions) for x in compare(old, model, run=False, verify=False).parts]


def _changed(part: Compared, model: m.Model, revisions: Revisions) -> ChangedView:
    there = part.name in {*model.machines, *model.systems, *(x.name for x in model.modules)}
    head = f"{part.owner} {part.name}" + (f": {part.kind}" if part.kind in ("added", "removed") else "")
    sentences = []
    for change in part.changes:
        first, *more = map(revisions.substitute, sentence(change))
        sentences.append((MARKS[change.kind], first, more))
    return ChangedView(head, anchor(part.name) if there else "", sentences)
