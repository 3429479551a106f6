/** The test explorer: systems, which are explored, and scenarios, which are played. */
import * as vscode from "vscode";
import { messageOf, type Client } from "./client";
import type { Panel } from "./panels";
import { TEST, TESTS, type Place, type Played, type Test, type Tests, type TraceOf, type Verified } from "./protocol";
import { nameOf } from "./results";
import type { Verification } from "./verification";

const SETTLED = 400; // milliseconds without a change after which the list is read again

interface Meant {
  readonly uri: string;
  readonly test: Test;
}

export class Testing implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController("fsmdsl", "State machines");
  private readonly meant = new WeakMap<vscode.TestItem, Meant>();
  private readonly subscriptions: vscode.Disposable[];
  private waiting: NodeJS.Timeout | undefined;

  constructor(
    private readonly client: Client,
    private readonly verification: Verification,
    private readonly trace: Panel<TraceOf>,
  ) {
    this.controller.refreshHandler = () => this.refresh();
    this.controller.createRunProfile("Run", vscode.TestRunProfileKind.Run, (asked, token) => this.run(asked, token), true);
    const watcher = vscode.workspace.createFileSystemWatcher("**/*.fsm");
    const later = () => {
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => void this.refresh(), SETTLED);
    };
    this.subscriptions = [
      this.controller, watcher, client.onDidStart(later),
      watcher.onDidCreate(later), watcher.onDidChange(later), watcher.onDidDelete(later),
      vscode.workspace.onDidChangeTextDocument((event) => event.document.languageId === "fsm" && later()),
      vscode.workspace.onDidCloseTextDocument((document) => document.languageId === "fsm" && later()),
    ];
  }

  dispose(): void {
    clearTimeout(this.waiting);
    for (const x of this.subscriptions) x.dispose();
  }

  /** Reads which systems and scenarios there are. What was found of those that stay is kept by the editor. */
  async refresh(): Promise<void> {
    if (this.client.running === undefined) return;
    const listed = await this.client.ask<Tests[]>(TESTS, []).catch(() => undefined);
    if (listed === undefined) return; // what there was stays
    this.controller.items.replace(listed.map((file) => this.fileItem(file)));
  }

  /** The stepper of a test: of what a system breaks, or of a scenario. */
  async step(item: vscode.TestItem): Promise<void> {
    const meant = this.meant.get(item);
    if (meant?.test.kind === "system") await this.verification.step(meant.uri, meant.test.name);
    if (meant?.test.kind !== "scenario") return;
    const played = await this.client.answer<Played>(TEST, meant.uri, meant.test.name);
    if (played) this.trace.show(played.name, { title: played.heading, stepping: played.stepping, diagrams: played.diagrams ?? {} });
  }

  private fileItem({ uri, module, tests }: Tests): vscode.TestItem {
    const address = vscode.Uri.parse(uri);
    const item = this.controller.createTestItem(uri, module || (uri.split("/").pop() ?? uri), address);
    item.children.replace(
      tests.map((test, n) => {
        const child = this.controller.createTestItem(`${uri}#${test.kind}:${test.name}`, test.name, address);
        if (test.title) child.description = test.title; // a screen reader says it in place of the name
        child.range = rangeOf(test.range);
        child.sortText = String(n).padStart(5, "0");
        this.meant.set(child, { uri, test });
        return child;
      }),
    );
    return item;
  }

  private async run(asked: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
    const run = this.controller.createTestRun(asked);
    const excluded = new Set(asked.exclude ?? []);
    const items = [...leaves(asked.include ?? elements(this.controller.items))].filter((x) => !excluded.has(x));
    for (const item of items) run.enqueued(item);
    for (const item of items) {
      const meant = this.meant.get(item);
      if (token.isCancellationRequested || meant === undefined) run.skipped(item);
      else await this.runOne(run, item, meant, token);
    }
    run.end();
  }

  private async runOne(run: vscode.TestRun, item: vscode.TestItem, { uri, test }: Meant, token: vscode.CancellationToken): Promise<void> {
    run.started(item);
    const begun = Date.now();
    try {
      if (test.kind === "system") {
        const done = await this.verification.explore(uri, test.name, token);
        judgeSystem(run, item, done, Date.now() - begun);
      } else {
        const played = await this.client.ask<Played>(TEST, [uri, test.name], token);
        judgeScenario(run, item, played, Date.now() - begun);
      }
    } catch (error) {
      if (token.isCancellationRequested) run.skipped(item);
      else run.errored(item, new vscode.TestMessage(messageOf(error)));
    }
  }
}

function judgeSystem(run: vscode.TestRun, item: vscode.TestItem, done: Verified, took: number): void {
  print(run, item, done.text);
  const system = done.systems[0];
  const messages = (system?.verdicts ?? []).flatMap((verdict, n) => {
    if (verdict.outcome !== "violated") return [];
    const violation = done.violations[n];
    return [message([`${nameOf(verdict)} is violated`, ...(violation?.story ?? [verdict.basis])], violation)];
  });
  if (messages.length > 0) run.failed(item, messages, took);
  else if (system?.verdict === "holds") run.passed(item, took);
  else run.errored(item, new vscode.TestMessage(`not decided\n${done.text}`), took);
}

function judgeScenario(run: vscode.TestRun, item: vscode.TestItem, { text, passed, failure }: Played, took: number): void {
  print(run, item, text);
  if (passed || failure === undefined) run.passed(item, took);
  else run.failed(item, message([failure.message, ...failure.notes, "", text], failure), took);
}

function message(lines: readonly string[], place: Place | null | undefined): vscode.TestMessage {
  const made = new vscode.TestMessage(lines.join("\n"));
  if (place) made.location = new vscode.Location(vscode.Uri.parse(place.uri), rangeOf(place.range));
  return made;
}

/** Into the terminal of test results, whose lines end as those of terminals do. */
function print(run: vscode.TestRun, item: vscode.TestItem, text: string): void {
  run.appendOutput(`${text}\n`.replace(/\r?\n/g, "\r\n"), undefined, item);
}

function rangeOf({ start, end }: Place["range"]): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}

function elements(items: vscode.TestItemCollection): vscode.TestItem[] {
  return [...items].map(([, item]) => item);
}

/** The tests themselves, without the files that they are in. */
function* leaves(items: readonly vscode.TestItem[]): Generator<vscode.TestItem> {
  for (const item of items) {
    if (item.children.size > 0) yield* leaves(elements(item.children));
    else yield item;
  }
}
