/** Which `fsm` is the workspace's. Knows nothing of the editor. */
import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** A program with its first arguments. */
export type Command = readonly [program: string, ...first: string[]];

export interface Surroundings {
  /** The program that the user has set; empty where none. */
  readonly setting: string;
  /** The Python interpreter that the user has set; empty where none. */
  readonly interpreter: string;
  /** The interpreter that the Python extension has for the workspace. */
  readonly python: string | undefined;
  /** The folders of the workspace, the first one first. */
  readonly folders: readonly string[];
  readonly path: string;
  readonly windows: boolean;
}

/** What to start, or nothing where there is nothing: the settings, the Python extension's environment, a virtual
 * environment of the workspace, the search path. */
export function fsmCommand(given: Surroundings, exists: (path: string) => boolean = existsSync): Command | undefined {
  if (given.setting) return [given.setting];
  if (given.interpreter) return module(given.interpreter);
  const name = given.windows ? "fsm.exe" : "fsm";
  const chosen = given.python === undefined ? [] : [join(dirname(given.python), name)];
  const environments = interpreters(given).map((x) => join(dirname(x), name));
  const onPath = given.path.split(delimiter).filter(Boolean).map((folder) => join(folder, name));
  const found = [...chosen, ...environments, ...onPath].find(exists);
  return found === undefined ? undefined : [found];
}

/** `fsm` of an interpreter. `-P`: nothing of the folder that it is started in is imported. */
export function module(interpreter: string): Command {
  return [interpreter, "-P", "-m", "fsmdsl"];
}

/** Where the workspace's virtual environments would have their interpreters. */
export function interpreters(given: Pick<Surroundings, "folders" | "windows">): string[] {
  const inside = given.windows ? ["Scripts", "python.exe"] : ["bin", "python"];
  return given.folders.flatMap((folder) => [".venv", "venv"].map((x) => join(folder, x, ...inside)));
}

export const INSTALL = "pip install 'fsmdsl[lsp,svg,fast]'";

export const ADVICE =
  `No \`fsm\` program was found. Install it where the workspace's virtual environment is, \`${INSTALL}\`, ` +
  "or select the Python interpreter that has it.";
