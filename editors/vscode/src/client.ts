/** The language server's process, and what it is asked. */
import * as vscode from "vscode";
import { LanguageClient, State, type Middleware } from "vscode-languageclient/node";
import { pythonOf } from "./python";
import { ADVICE, fsmCommand, type Command } from "./server";
import { vouched } from "./vouching";

/** What the lenses in the text run, and what is run instead: the answer is shown by the editor, not by the server. */
export type Shown = Readonly<Record<string, string>>;

export class Client implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private command: Command | undefined;
  private readonly started = new vscode.EventEmitter<void>();
  /** It talks. */
  readonly onDidStart = this.started.event;

  constructor(private readonly shown: Shown) {}

  /** The client of the protocol, once it talks. */
  get running(): LanguageClient | undefined {
    return this.client?.state === State.Running ? this.client : undefined;
  }

  /** What was started. */
  get program(): Command | undefined {
    return this.command;
  }

  async start(): Promise<void> {
    if (!vscode.workspace.isTrusted) return;
    this.command = await found();
    if (this.command === undefined) {
      void offer(ADVICE);
      return;
    }
    const [command, ...first] = this.command;
    const client = new LanguageClient("fsmdsl", "fsmdsl", { command, args: [...first, "lsp"] }, {
      documentSelector: [{ language: "fsm" }],
      middleware: this.middleware(),
      synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.fsm") },
    });
    this.client = client;
    try {
      await client.start();
      void vscode.commands.executeCommand("setContext", "fsmdsl.running", true);
      this.started.fire();
    } catch (error) {
      void offer(`\`${[...this.command, "lsp"].join(" ")}\` did not start: ${messageOf(error)}`);
    }
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    await client?.stop();
  }

  async restart(): Promise<void> {
    await this.stop().catch(() => undefined);
    await this.start();
  }

  /** Starts again where another program is meant now. */
  async follow(): Promise<void> {
    const now = await found();
    if (now?.join("\n") !== this.command?.join("\n")) await this.restart();
  }

  /** The answer to a command of the server. Raises what the server refuses. */
  async ask<Answer>(command: string, given: readonly unknown[], token?: vscode.CancellationToken): Promise<Answer> {
    const client = this.running;
    if (client === undefined) throw new Error("The language server of state machines is not running.");
    return client.sendRequest<Answer>("workspace/executeCommand", { command, arguments: given }, token);
  }

  /** The same; where it is refused, the user sees why. */
  async answer<Answer>(command: string, ...given: unknown[]): Promise<Answer | undefined> {
    try {
      return await this.ask<Answer>(command, given);
    } catch (error) {
      void vscode.window.showErrorMessage(messageOf(error));
      return undefined;
    }
  }

  dispose(): void {
    this.started.dispose();
  }

  private middleware(): Middleware {
    return {
      executeCommand: (command, given, next) =>
        command in this.shown ? vscode.commands.executeCommand(this.shown[command]!, ...given) : next(command, given),
      sendRequest: (type, param, token, next) => {
        const method = typeof type === "string" ? type : type.method;
        return next(type, vouched(method, param, (uri) => this.textOf(uri)) as typeof param, token);
      },
    };
  }

  /** The text of a document that is open, by the address that the server has for it. */
  private textOf(uri: string): string | undefined {
    return vscode.workspace.textDocuments
      .find((x) => this.client?.code2ProtocolConverter.asUri(x.uri) === uri)
      ?.getText();
  }
}

/** What to start in this workspace. */
async function found(): Promise<Command | undefined> {
  const settings = vscode.workspace.getConfiguration("fsmdsl");
  return fsmCommand({
    setting: settings.get("command", ""),
    interpreter: settings.get("interpreter", ""),
    python: await pythonOf(vscode.workspace.workspaceFolders?.[0]?.uri),
    folders: folders(),
    path: process.env["PATH"] ?? "",
    windows: process.platform === "win32",
  });
}

/** The folders of the workspace that are on this machine. */
export function folders(): string[] {
  return (vscode.workspace.workspaceFolders ?? []).filter((x) => x.uri.scheme === "file").map((x) => x.uri.fsPath);
}

/** Says that something is wrong with the program, and offers to select another. */
async function offer(message: string): Promise<void> {
  const select = "Select interpreter";
  const answer = await vscode.window.showWarningMessage(message, select);
  if (answer === select) await vscode.commands.executeCommand("fsmdsl.selectInterpreter");
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
