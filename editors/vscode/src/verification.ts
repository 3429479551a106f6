/** Verification of a system on demand, and its counterexamples step by step. */
import * as vscode from "vscode";
import type { Client } from "./client";
import type { Panel } from "./panels";
import { SYSTEMS, TRACE, VERIFY, type TraceOf, type Verified } from "./protocol";
import { nameOf, type OfVerdict, type Results } from "./results";

export class Verification implements vscode.Disposable {
  private readonly output = vscode.window.createOutputChannel("fsmdsl verification");

  constructor(
    private readonly client: Client,
    private readonly trace: Panel<TraceOf>,
    private readonly results: Results,
  ) {}

  dispose(): void {
    this.output.dispose();
  }

  /** What is known of a system, also in the view of results. Raises what the server refuses. */
  async explore(uri: string, system: string, token?: vscode.CancellationToken): Promise<Verified> {
    const done = await this.client.ask<Verified>(VERIFY, [uri, system], token);
    this.output.appendLine(done.text);
    this.results.add(uri, done);
    return done;
  }

  /** The command: of a system that is named, or chosen. */
  async verify(uri?: string, system?: string): Promise<void> {
    const found = await this.chosen(uri, system);
    if (found === undefined) return;
    const place = { location: vscode.ProgressLocation.Window, title: `Exploring ${found[1]}` };
    const done = await vscode.window.withProgress(place, () => this.explored(...found));
    if (done === undefined) return;
    await this.results.show();
    await vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup"); // a view that opens takes the keys
    const verdict = done.systems[0]?.verdict ?? "unknown";
    if (verdict === "holds") {
      void vscode.window.showInformationMessage(`${found[1]}: every verdict holds.`);
      return;
    }
    const answers = runs(done).length > 0 ? ["Step through it", "Details"] : ["Details"];
    const answer = await vscode.window.showWarningMessage(`${found[1]}: ${verdict}`, ...answers);
    if (answer === "Details") this.output.show(true);
    if (answer === "Step through it") await this.step(...found);
  }

  /** The stepper of a counterexample: of one that is named, or chosen. */
  async step(uri?: string, system?: string, property?: string): Promise<void> {
    const found = await this.chosen(uri, system);
    if (found === undefined) return;
    const named = property ?? (await this.violated(...found));
    if (named === undefined) return;
    const run = await this.client.answer<TraceOf>(TRACE, ...found, named);
    if (run) this.trace.show(run.title, run);
  }

  /** The stepper of what is violated in the view of results. */
  async stepOf({ uri, system, verdict }: OfVerdict): Promise<void> {
    await this.step(uri, system, nameOf(verdict));
  }

  private async explored(uri: string, system: string): Promise<Verified | undefined> {
    try {
      return await this.explore(uri, system);
    } catch (error) {
      void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  /** The system that is meant: named, the only one, or chosen. */
  private async chosen(uri: string | undefined, system: string | undefined): Promise<[string, string] | undefined> {
    const where = uri ?? vscode.window.activeTextEditor?.document.uri.toString();
    if (where === undefined) return undefined;
    if (system !== undefined) return [where, system];
    const systems = (await this.client.answer<string[]>(SYSTEMS, where)) ?? [];
    if (systems.length === 0) {
      void vscode.window.showInformationMessage("There is no system in this file: nothing says what to explore.");
      return undefined;
    }
    const one = systems.length === 1 ? systems[0] : await vscode.window.showQuickPick(systems, { title: "Which system?" });
    return one === undefined ? undefined : [where, one];
  }

  private async violated(uri: string, system: string): Promise<string | undefined> {
    const done = await this.explored(uri, system);
    if (done === undefined) return undefined;
    const found = runs(done);
    if (found.length === 0) void vscode.window.showInformationMessage(`${system}: no run to step through.`);
    return found.length > 1 ? vscode.window.showQuickPick(found, { title: "Which run?" }) : found[0];
  }
}

/** The names of what is violated by a run. */
function runs(done: Verified): string[] {
  const verdicts = done.systems[0]?.verdicts ?? [];
  return verdicts.filter((x) => x.outcome === "violated" && x.trace).map(nameOf);
}
