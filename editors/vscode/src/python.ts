/** The Python extension's interpreter, where that extension is installed. */
import * as vscode from "vscode";

interface Environment {
  readonly executable?: { readonly uri?: vscode.Uri };
}

/** As much of its API as is used here. */
interface Python {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): unknown;
    resolveEnvironment(path: unknown): Promise<Environment | undefined>;
    readonly known: readonly Environment[];
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

async function python(): Promise<Python | undefined> {
  try {
    return await vscode.extensions.getExtension<Python>("ms-python.python")?.activate();
  } catch {
    return undefined; // an extension that does not start is none
  }
}

/** The interpreter that it has for a folder. */
export async function pythonOf(folder: vscode.Uri | undefined): Promise<string | undefined> {
  const environments = (await python())?.environments;
  try {
    const found = await environments?.resolveEnvironment(environments.getActiveEnvironmentPath(folder));
    return found?.executable?.uri?.fsPath;
  } catch {
    return undefined;
  }
}

/** All interpreters that it knows. */
export async function knownPythons(): Promise<string[]> {
  const known = (await python())?.environments.known ?? [];
  return known.flatMap((x) => x.executable?.uri?.fsPath ?? []);
}

/** Calls when another interpreter is chosen there. */
export async function onPythonChange(changed: () => void): Promise<vscode.Disposable | undefined> {
  return (await python())?.environments.onDidChangeActiveEnvironmentPath(changed);
}
