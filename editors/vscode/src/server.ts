/** Which `fsm` is the workspace's. Knows nothing of the editor. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

export interface Place {
  /** What the user has set; empty where nothing. */
  readonly setting: string;
  /** The folders of the workspace, the first one first. */
  readonly folders: readonly string[];
  readonly path: string;
  readonly windows: boolean;
}

/** The program to start, or nothing where there is none: the setting, a virtual environment, the search path. */
export function fsmProgram(place: Place, exists: (path: string) => boolean = existsSync): string | undefined {
  if (place.setting) return place.setting;
  const [bin, name] = place.windows ? ["Scripts", "fsm.exe"] : ["bin", "fsm"];
  const environments = place.folders.flatMap((folder) => [".venv", "venv"].map((x) => join(folder, x, bin, name)));
  const onPath = place.path.split(delimiter).filter(Boolean).map((folder) => join(folder, name));
  return [...environments, ...onPath].find(exists);
}

export const ADVICE =
  "No `fsm` program was found. Install it where the workspace's virtual environment is, " +
  "`pip install 'fsmdsl[lsp,svg,fast]'`, or say where it is in the setting `fsmdsl.command`.";
