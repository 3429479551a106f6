/** The extension: the language server's client, and the commands and views that show what it answers. */
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { Client } from "./client";
import { draw, following } from "./diagram";
import { selectInterpreter } from "./interpreter";
import { diagramPanel, tracePanel } from "./panels";
import { DRAW, TRACE, VERIFY } from "./protocol";
import { onPythonChange } from "./python";
import { report } from "./report";
import { Results, type OfVerdict } from "./results";
import { Testing } from "./testing";
import { Verification } from "./verification";

let client: Client | undefined;

/** What is running, for tests of the extension. */
export function running(): LanguageClient | undefined {
  return client?.running;
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const started = new Client({ [VERIFY]: "fsmdsl.verify", [TRACE]: "fsmdsl.trace", [DRAW]: "fsmdsl.diagram" });
  client = started;
  const diagram = diagramPanel(context);
  const trace = tracePanel(context);
  const results = new Results();
  const verification = new Verification(started, trace, results);
  const testing = new Testing(started, verification, trace);
  const register = (name: string, run: (...given: never[]) => unknown) =>
    context.subscriptions.push(vscode.commands.registerCommand(name, run));

  register("fsmdsl.diagram", () => draw(started, diagram, true));
  register("fsmdsl.verify", (uri?: string, system?: string) => verification.verify(uri, system));
  register("fsmdsl.trace", (uri?: string, system?: string, property?: string) => verification.step(uri, system, property));
  register("fsmdsl.results.step", (node: OfVerdict) => verification.stepOf(node));
  register("fsmdsl.results.clear", () => results.clear());
  register("fsmdsl.testing.step", (item: vscode.TestItem) => testing.step(item));
  register("fsmdsl.report", () => report(started.program));
  register("fsmdsl.restart", () => started.restart());
  register("fsmdsl.selectInterpreter", selectInterpreter);
  register("fsmdsl.example", () => example(context));
  context.subscriptions.push(
    started, verification, results, testing, following(started, diagram),
    vscode.workspace.onDidGrantWorkspaceTrust(() => started.restart()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (["command", "interpreter"].some((x) => event.affectsConfiguration(`fsmdsl.${x}`))) void started.follow();
    }),
  );
  await started.start();
  const watching = await onPythonChange(() => void started.follow());
  if (watching) context.subscriptions.push(watching);
}

export async function deactivate(): Promise<void> {
  await client?.stop();
  client = undefined;
}

/** A spec to try things on, which `fsm init` writes too; a new text, not a file. */
async function example(context: vscode.ExtensionContext): Promise<void> {
  const bytes = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(context.extensionUri, "dist", "gang.fsm"));
  const document = await vscode.workspace.openTextDocument({ language: "fsm", content: new TextDecoder().decode(bytes) });
  await vscode.window.showTextDocument(document);
}
