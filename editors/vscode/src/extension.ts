/** The extension: the language server's client, the diagram beside the text, verification, traces, the report. */
import * as vscode from "vscode";
import { LanguageClient, State, type Middleware, type ServerOptions } from "vscode-languageclient/node";
import { diagramPanel, tracePanel, type Panel } from "./panels";
import { DIAGRAM, DRAW, SYSTEMS, TRACE, VERIFY, type Diagram, type TraceOf, type Verified } from "./protocol";
import { ADVICE, fsmProgram } from "./server";
import { vouched } from "./vouching";

const SETTLED = 120; // milliseconds without a move after which the diagram follows the cursor

let client: LanguageClient | undefined;
let middleware: Middleware = {};

/** What is running, for tests of the extension. */
export function running(): LanguageClient | undefined {
  return client;
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const diagram = diagramPanel(context);
  const trace = tracePanel(context);
  const output = vscode.window.createOutputChannel("fsmdsl verification");
  const register = (name: string, run: (...given: never[]) => unknown) =>
    context.subscriptions.push(vscode.commands.registerCommand(name, run));

  register("fsmdsl.diagram", () => follow(diagram, true));
  register("fsmdsl.verify", (uri?: string, system?: string) => verify(output, trace, uri, system));
  register("fsmdsl.trace", (uri?: string, system?: string, property?: string) => step(trace, uri, system, property));
  register("fsmdsl.report", report);
  register("fsmdsl.restart", restart);
  context.subscriptions.push(output, following(diagram), vscode.workspace.onDidGrantWorkspaceTrust(restart));
  // What the lenses in the text run: the answer is shown here, not by the server.
  const shown: Record<string, string> = { [VERIFY]: "fsmdsl.verify", [TRACE]: "fsmdsl.trace", [DRAW]: "fsmdsl.diagram" };
  middleware = {
    executeCommand: (command, given, next) =>
      command in shown ? vscode.commands.executeCommand(shown[command]!, ...given) : next(command, given),
    sendRequest: (type, param, token, next) => {
      const method = typeof type === "string" ? type : type.method;
      return next(type, vouched(method, param, textOf) as typeof param, token);
    },
  };
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
  client = undefined;
}

// The language server

function program(): string | undefined {
  return fsmProgram({
    setting: vscode.workspace.getConfiguration("fsmdsl").get("command", ""),
    folders: (vscode.workspace.workspaceFolders ?? []).filter((x) => x.uri.scheme === "file").map((x) => x.uri.fsPath),
    path: process.env["PATH"] ?? "",
    windows: process.platform === "win32",
  });
}

async function start(): Promise<void> {
  if (!vscode.workspace.isTrusted) return;
  const command = program();
  if (command === undefined) {
    void vscode.window.showWarningMessage(ADVICE);
    return;
  }
  const server: ServerOptions = { command, args: ["lsp"] };
  client = new LanguageClient("fsmdsl", "fsmdsl", server, {
    documentSelector: [{ language: "fsm" }],
    middleware,
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.fsm") },
  });
  try {
    await client.start();
  } catch (error) {
    void vscode.window.showErrorMessage(`\`${command} lsp\` did not start: ${said(error)}`);
  }
}

/** The text of a document that is open, by the address that the server has for it. */
function textOf(uri: string): string | undefined {
  return vscode.workspace.textDocuments
    .find((x) => client?.code2ProtocolConverter.asUri(x.uri) === uri)
    ?.getText();
}

async function restart(): Promise<void> {
  await deactivate().catch(() => undefined);
  await start();
}

function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The client, once it talks; where it does not, the user is told. */
function talking(): LanguageClient | undefined {
  if (client?.state === State.Running) return client;
  void vscode.window.showWarningMessage("The language server of state machines is not running.");
  return undefined;
}

async function asked<Answer>(command: string, ...given: unknown[]): Promise<Answer | undefined> {
  try {
    return await talking()?.sendRequest<Answer>("workspace/executeCommand", { command, arguments: given });
  } catch (error) {
    void vscode.window.showErrorMessage(said(error));
    return undefined;
  }
}

// The diagram

function following(diagram: Panel<Diagram>): vscode.Disposable {
  let waiting: NodeJS.Timeout | undefined;
  const moved = (document: vscode.TextDocument | undefined) => {
    const follows = vscode.workspace.getConfiguration("fsmdsl").get("diagram.follow", true);
    if (document?.languageId !== "fsm" || !diagram.open || !follows) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => void follow(diagram, false), SETTLED);
  };
  return vscode.Disposable.from(
    vscode.window.onDidChangeTextEditorSelection((event) => moved(event.textEditor.document)),
    vscode.window.onDidChangeActiveTextEditor((editor) => moved(editor?.document)),
    vscode.workspace.onDidChangeTextDocument((event) => moved(event.document)),
    { dispose: () => clearTimeout(waiting) },
  );
}

async function follow(diagram: Panel<Diagram>, opening: boolean): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const running = opening ? talking() : client;
  if (editor?.document.languageId !== "fsm" || running?.state !== State.Running) return;
  const { line, character } = editor.selection.active;
  const textDocument = { uri: editor.document.uri.toString() };
  try {
    const drawn = await running.sendRequest<Diagram>(DIAGRAM, { textDocument, position: { line, character } });
    if (opening || diagram.open) diagram.show(drawn.title || "diagram", drawn);
  } catch (error) {
    if (opening) void vscode.window.showErrorMessage(said(error));
  }
}

// Verification

/** The system that is meant: named, the only one, or chosen. */
async function chosen(uri: string | undefined, system: string | undefined): Promise<[string, string] | undefined> {
  const where = uri ?? vscode.window.activeTextEditor?.document.uri.toString();
  if (where === undefined) return undefined;
  if (system !== undefined) return [where, system];
  const systems = (await asked<string[]>(SYSTEMS, where)) ?? [];
  if (systems.length === 0) {
    void vscode.window.showInformationMessage("There is no system in this file: nothing says what to explore.");
    return undefined;
  }
  const one = systems.length === 1 ? systems[0] : await vscode.window.showQuickPick(systems, { title: "Which system?" });
  return one === undefined ? undefined : [where, one];
}

async function verify(
  output: vscode.OutputChannel, trace: Panel<TraceOf>, uri?: string, system?: string,
): Promise<void> {
  const found = await chosen(uri, system);
  if (found === undefined) return;
  const title = `Exploring ${found[1]}`;
  const place = { location: vscode.ProgressLocation.Window, title };
  const done = await vscode.window.withProgress(place, () => asked<Verified>(VERIFY, ...found));
  if (done === undefined) return;
  output.appendLine(done.text);
  const verdict = done.systems[0]?.verdict ?? "unknown";
  if (verdict === "holds") {
    void vscode.window.showInformationMessage(`${found[1]}: all that was asked holds.`);
    return;
  }
  const answers = runs(done).length > 0 ? ["Step through it", "Details"] : ["Details"];
  const answer = await vscode.window.showWarningMessage(`${found[1]}: ${verdict}`, ...answers);
  if (answer === "Details") output.show(true);
  if (answer === "Step through it") await step(trace, ...found);
}

async function step(trace: Panel<TraceOf>, uri?: string, system?: string, property?: string): Promise<void> {
  const found = await chosen(uri, system);
  if (found === undefined) return;
  const named = property ?? (await violated(...found));
  if (named === undefined) return;
  const run = await asked<TraceOf>(TRACE, ...found, named);
  if (run) trace.show(run.title, run);
}

/** The names of what is violated by a run. */
function runs(done: Verified | undefined): string[] {
  const verdicts = done?.systems[0]?.verdicts ?? [];
  return verdicts.filter((x) => x.outcome === "violated" && x.trace).map((x) => `${x.kind} ${x.name}`);
}

async function violated(uri: string, system: string): Promise<string | undefined> {
  const found = runs(await asked<Verified>(VERIFY, uri, system));
  if (found.length === 0) void vscode.window.showInformationMessage(`${system}: no run to step through.`);
  return found.length > 1 ? vscode.window.showQuickPick(found, { title: "Which run?" }) : found[0];
}

// The report

async function report(): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const command = program();
  if (folder === undefined || command === undefined) {
    void vscode.window.showWarningMessage(folder === undefined ? "Open a folder of specs first." : ADVICE);
    return;
  }
  const out = vscode.Uri.joinPath(folder, "build", "report");
  const task = new vscode.Task(
    { type: "fsmdsl" },
    vscode.TaskScope.Workspace,
    "report",
    "fsm",
    new vscode.ProcessExecution(command, ["report", "--out", out.fsPath], { cwd: folder.fsPath }),
  );
  const execution = await vscode.tasks.executeTask(task);
  const ended = vscode.tasks.onDidEndTaskProcess(async (event) => {
    if (event.execution !== execution) return;
    ended.dispose();
    if (event.exitCode !== undefined && event.exitCode !== 2)
      await vscode.env.openExternal(vscode.Uri.joinPath(out, "index.html"));
  });
}
