/** The command that selects the Python interpreter whose `fsmdsl` is the language server. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import * as vscode from "vscode";
import { folders } from "./client";
import { knownPythons } from "./python";
import { INSTALL, interpreters, module } from "./server";

interface Choice extends vscode.QuickPickItem {
  /** Undefined: to be typed. Empty: none is set. */
  readonly interpreter: string | undefined;
}

export async function selectInterpreter(): Promise<void> {
  if (!vscode.workspace.isTrusted) return; // its interpreters would be run
  const choice = await vscode.window.showQuickPick(await choices(), {
    title: "Which Python has fsmdsl?",
    placeHolder: "The language server, the diagrams and the report are of this interpreter",
  });
  if (choice === undefined) return;
  const interpreter = choice.interpreter ?? (await typed());
  if (interpreter === undefined) return;
  const version = interpreter === "" ? "" : await versionOf(interpreter);
  if (version === undefined) {
    void vscode.window.showErrorMessage(`${interpreter} has no fsmdsl. Install it there: \`${INSTALL}\``);
    return;
  }
  const target = folders().length > 0 ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
  await vscode.workspace.getConfiguration("fsmdsl").update("interpreter", interpreter, target);
}

async function choices(): Promise<Choice[]> {
  const windows = process.platform === "win32";
  const known = [...interpreters({ folders: folders(), windows }).filter((x) => existsSync(x)), ...(await knownPythons())];
  const listed = await Promise.all(
    [...new Set(known)].map(async (interpreter): Promise<Choice> => {
      const version = await versionOf(interpreter);
      return { label: interpreter, description: version === undefined ? "no fsmdsl" : version, interpreter };
    }),
  );
  return [
    ...listed,
    { label: "$(edit) Enter a path…", interpreter: undefined },
    { label: "$(search) Find it", description: "Python extension, `.venv`, `venv`, PATH", interpreter: "" },
  ];
}

async function typed(): Promise<string | undefined> {
  return vscode.window.showInputBox({ title: "Path of the Python interpreter", placeHolder: "/path/to/bin/python" });
}

/** What `fsm --version` of an interpreter prints; nothing where it has none. */
async function versionOf(interpreter: string): Promise<string | undefined> {
  const [program, ...first] = module(interpreter);
  try {
    return (await promisify(execFile)(program, [...first, "--version"], { timeout: 20_000 })).stdout.trim();
  } catch {
    return undefined;
  }
}
