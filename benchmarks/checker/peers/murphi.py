"""HiveD-lite in Murphi, for rumur. Groups are 1, 2, …; 0 is none; a group's number is its priority."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from string import Template, ascii_lowercase
from typing import Literal

Form = Literal["loop", "unrolled", "symmetric"]
"""Schedule is a rule with cells as parameters, or one for each set of cells; or cells are a scalarset, for symmetry."""


def murphi(groups: int, cells: int, size: int, form: Form) -> str:
    """The model."""
    cell = f"scalarset({cells})" if form == "symmetric" else f"1..{cells}"
    names = ascii_lowercase[:size]
    if form == "unrolled":
        choices = [[str(c) for c in chosen] for chosen in combinations(range(1, cells + 1), size)]
        rules = "".join(schedule("ruleset g: AG do\n", [], chosen) for chosen in choices)
    else:
        ruleset = "ruleset " + "; ".join(["g: AG", *(f"{v}: Cell" for v in names)]) + " do\n"
        pairs = combinations(names, 2) if form == "symmetric" else pairwise(names)
        sign = "!=" if form == "symmetric" else "<"
        rules = schedule(ruleset, [f"{x} {sign} {y}" for x, y in pairs], names)
    return Template(BEGIN + rules + END).substitute(groups=groups, cells=cells, cell=cell, size=size)


def schedule(ruleset: str, conditions: Sequence[str], chosen: Sequence[str]) -> str:
    """The rule, for the cells that are chosen. Predicates are written out: a call costs rumur much more."""
    guard = " & ".join(["ag[g] = Pending", *conditions, *map(eligible, chosen)])
    preempts = " | ".join(f"cell[{v}].kind = Used | cell[{v}].kind = Reserving" for v in chosen)
    return (
        f'{ruleset}rule "schedule"\n  {guard}\n==>\nvar pre: boolean;\nbegin\n  pre := {preempts};\n'
        + "".join(f"  unreserve({v});\n" for v in chosen)
        + "  if pre then\n"
        + "".join(f"    reserve({v}, g);\n" for v in chosen)
        + "    ag[g] := Preempting;\n  else\n"
        + "".join(f"    take({v}, g);\n" for v in chosen)
        + "    ag[g] := Allocated;\n  end;\nend;\nend;\n\n"
    )


def eligible(v: str) -> str:
    """May the group choose a cell?"""
    user = f"cell[{v}].user = 0 | ag[cell[{v}].user] = BeingPreempted | cell[{v}].user < g"
    return f"(cell[{v}].kind = Free | ({user}) & cell[{v}].res < g)"


BEGIN = """\
type
  AG: 1..$groups;
  AGN: 0..$groups;
  Cell: $cell;
  AS: enum { Pending, Preempting, Allocated, BeingPreempted, Deleted };
  CS: enum { Free, Used, Reserving, Reserved };
var
  ag: array[AG] of AS;
  cell: array[Cell] of record kind: CS; user: AGN; res: AGN; end;

procedure cancel(g: AG);
begin
  for c: Cell do
    if cell[c].res = g then
      cell[c].res := 0;
      if cell[c].kind = Reserving then cell[c].kind := Used; else cell[c].kind := Free; end;
    end;
  end;
end;

procedure unreserve(c: Cell);
begin
  if cell[c].res != 0 then
    ag[cell[c].res] := Pending;
    cancel(cell[c].res);
  end;
end;

procedure reserve(c: Cell; g: AG);
begin
  cell[c].res := g;
  if cell[c].kind = Used then
    cell[c].kind := Reserving;
    ag[cell[c].user] := BeingPreempted;
  else
    cell[c].kind := Reserved;
  end;
end;

procedure take(c: Cell; g: AG);
begin
  cell[c].kind := Used; cell[c].user := g; cell[c].res := 0;
end;

startstate "init"
begin
  for g: AG do ag[g] := Pending; end;
  for c: Cell do cell[c].kind := Free; cell[c].user := 0; cell[c].res := 0; end;
end;

"""

END = """\
ruleset g: AG do
rule "victim done" ag[g] = BeingPreempted ==>
begin
  ag[g] := Deleted;
  for c: Cell do
    if cell[c].user = g then
      cell[c].user := 0;
      if cell[c].kind = Reserving then cell[c].kind := Reserved; else cell[c].kind := Free; end;
    end;
  end;
end;

rule "promote" ag[g] = Preempting & forall c: Cell do cell[c].res != g | cell[c].kind = Reserved end ==>
begin
  ag[g] := Allocated;
  for c: Cell do if cell[c].res = g then take(c, g); end; end;
end;

rule "cancel" ag[g] = Preempting ==>
begin
  ag[g] := Deleted;
  cancel(g);
end;

rule "finish" ag[g] = Allocated ==>
begin
  ag[g] := Deleted;
  for c: Cell do
    if cell[c].user = g then cell[c].user := 0; cell[c].kind := Free; end;
  end;
end;

rule "resubmit" ag[g] = Deleted ==>
begin
  ag[g] := Pending;
end;
end;

rule "crash" exists g: AG do ag[g] = Preempting | ag[g] = BeingPreempted end ==>
begin
  for g: AG do
    if ag[g] = Preempting then ag[g] := Pending;
    elsif ag[g] = BeingPreempted then ag[g] := Allocated; end;
  end;
  for c: Cell do
    cell[c].res := 0;
    if cell[c].user != 0 then cell[c].kind := Used; else cell[c].kind := Free; end;
  end;
end;

function agok(g: AG): boolean;
var n: 0..$cells;
begin
  if ag[g] != Allocated then return true; end;
  n := 0;
  for c: Cell do if cell[c].user = g then n := n + 1; end; end;
  return n = $size;
end;

invariant "cells" forall c: Cell do
  cell[c].kind = Free & cell[c].user = 0 & cell[c].res = 0 |
  cell[c].kind = Used & cell[c].user != 0 & cell[c].res = 0 &
    (ag[cell[c].user] = Allocated | ag[cell[c].user] = BeingPreempted) |
  cell[c].kind = Reserving & cell[c].user != 0 & cell[c].res != 0 &
    ag[cell[c].user] = BeingPreempted & ag[cell[c].res] = Preempting |
  cell[c].kind = Reserved & cell[c].user = 0 & cell[c].res != 0 & ag[cell[c].res] = Preempting
end;
invariant "allocated" forall g: AG do agok(g) end;
"""
