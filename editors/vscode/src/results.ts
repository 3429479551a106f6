/** The view of results: the systems that were verified, the verdicts on each, and counterexamples step by step. */
import * as vscode from "vscode";
import type { Place, System, Verdict, Verified, Violation } from "./protocol";

interface OfSystem {
  readonly kind: "system";
  readonly uri: string;
  readonly system: System;
  readonly verdicts: readonly OfVerdict[];
}

export interface OfVerdict {
  readonly kind: "verdict";
  readonly uri: string;
  readonly system: string;
  readonly verdict: Verdict;
  readonly violation: Violation | null;
  readonly steps: readonly OfStep[];
}

interface OfStep {
  readonly kind: "step";
  readonly number: number;
  readonly text: string;
  readonly happenings: readonly string[];
  readonly source: Place | null;
}

type Node = OfSystem | OfVerdict | OfStep;

const ICONS: Record<string, [icon: string, colour?: string]> = {
  holds: ["pass", "testing.iconPassed"],
  violated: ["error", "testing.iconFailed"],
};
const UNDECIDED: [icon: string, colour?: string] = ["question", "testing.iconSkipped"];

export class Results implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly systems = new Map<string, OfSystem>();
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view: vscode.TreeView<Node>;

  constructor() {
    this.view = vscode.window.createTreeView<Node>("fsmdsl.results", { treeDataProvider: this, showCollapseAll: true });
  }

  /** Takes in what was found of a system, in place of what was known of it. */
  add(uri: string, verified: Verified): void {
    const system = verified.systems[0];
    if (system === undefined) return;
    const key = `${uri}\n${system.name}`;
    this.systems.delete(key); // the last one comes last, which is first in the view
    this.systems.set(key, { kind: "system", uri, system, verdicts: verdicts(uri, system, verified) });
    this.changed.fire();
  }

  /** Shows the system that was taken in last, opened at what is violated. */
  async show(): Promise<void> {
    const last = this.getChildren()[0];
    if (last?.kind !== "system") return;
    const violated = last.verdicts.find((x) => x.steps.length > 0);
    await this.view.reveal(violated ?? last, { expand: true, select: true, focus: false });
  }

  clear(): void {
    this.systems.clear();
    this.changed.fire();
  }

  getChildren(node?: Node): Node[] {
    switch (node?.kind) {
      case undefined:
        return [...this.systems.values()].reverse();
      case "system":
        return [...node.verdicts];
      case "verdict":
        return [...node.steps];
      case "step":
        return [];
    }
  }

  getParent(node: Node): Node | undefined {
    return node.kind === "verdict" ? [...this.systems.values()].find((x) => x.verdicts.includes(node)) : undefined;
  }

  getTreeItem(node: Node): vscode.TreeItem {
    switch (node.kind) {
      case "system":
        return systemItem(node);
      case "verdict":
        return verdictItem(node);
      case "step":
        return stepItem(node);
    }
  }

  dispose(): void {
    this.view.dispose();
    this.changed.dispose();
  }
}

function verdicts(uri: string, system: System, verified: Verified): OfVerdict[] {
  return system.verdicts.map((verdict, n) => {
    const violation = verified.violations[n] ?? null;
    return { kind: "verdict", uri, system: system.name, verdict, violation, steps: steps(verdict, violation) };
  });
}

function steps(verdict: Verdict, violation: Violation | null): OfStep[] {
  const run = verdict.outcome === "violated" ? (verdict.trace?.steps ?? []) : [];
  return run.map((x, n) => ({
    kind: "step", number: n + 1, text: x.step, happenings: x.happenings, source: violation?.sources[n] ?? null,
  }));
}

function systemItem({ system }: OfSystem): vscode.TreeItem {
  const item = new vscode.TreeItem(system.name, vscode.TreeItemCollapsibleState.Expanded);
  item.description = `${system.verdict}, ${system.states.toLocaleString("en")} states`;
  item.iconPath = icon(system.verdict);
  item.contextValue = "system";
  return item;
}

function verdictItem(node: OfVerdict): vscode.TreeItem {
  const { verdict, violation } = node;
  const { None, Collapsed } = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(nameOf(verdict), node.steps.length > 0 ? Collapsed : None);
  item.description = verdict.outcome;
  item.tooltip = verdict.basis;
  item.iconPath = icon(verdict.outcome);
  item.contextValue = node.steps.length > 0 ? "run" : "verdict";
  if (violation) item.command = opening(violation);
  return item;
}

function stepItem({ number, text, happenings, source }: OfStep): vscode.TreeItem {
  const item = new vscode.TreeItem(`${number}  ${text}`);
  item.description = happenings[0] ?? "";
  item.tooltip = [text, ...happenings].join("\n");
  if (source) item.command = opening(source);
  return item;
}

/** What was asked, as reports name it. */
export function nameOf({ title }: Verdict): string {
  return title;
}

/** Shows a place in its text. */
function opening({ uri, range }: Place): vscode.Command {
  const { start, end } = range;
  const selection = new vscode.Range(start.line, start.character, end.line, end.character);
  return { command: "vscode.open", title: "Show", arguments: [vscode.Uri.parse(uri), { selection, preserveFocus: true }] };
}

function icon(outcome: string): vscode.ThemeIcon {
  const [name, colour] = ICONS[outcome] ?? UNDECIDED;
  return new vscode.ThemeIcon(name, colour === undefined ? undefined : new vscode.ThemeColor(colour));
}
