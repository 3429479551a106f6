/** What the language server is asked beyond the protocol that all editors speak. */

export interface Position {
  readonly line: number;
  readonly character: number;
}

/** A place in a file. */
export interface Place {
  readonly uri: string;
  readonly range: { readonly start: Position; readonly end: Position };
}

/** The machine at a place of a text, drawn. `message` says why there is no picture. */
export interface Diagram {
  readonly title: string;
  readonly svg: string | null;
  readonly machine: string | null;
  /** What the cursor is on: a state by its name, transitions by their indices. */
  readonly state?: string;
  readonly transitions?: readonly number[];
  readonly message?: string;
  /** The text has errors, and the picture is of before. */
  readonly stale?: boolean;
}

/** What `fsm verify --format json` prints, as far as it is looked at here, and the same as text. */
export interface Verified {
  readonly systems: readonly System[];
  readonly text: string;
  /** For each verdict of the system where what is violated is written, its run as text, and where its steps are. */
  readonly violations: readonly (Violation | null)[];
}

export interface System {
  readonly name: string;
  readonly states: number;
  readonly verdict: string;
  readonly verdicts: readonly Verdict[];
}

export interface Verdict {
  readonly kind: string;
  readonly name: string;
  /** What a list shows: it tells apart the steps that fail. */
  readonly title: string;
  readonly outcome: string;
  readonly basis: string;
  readonly trace: Trace | null;
}

export interface Violation extends Place {
  readonly story: readonly string[];
  readonly sources: readonly (Place | null)[];
}

export interface Trace {
  readonly steps: readonly { readonly step: string; readonly happenings: readonly string[] }[];
}

/** What the stepper shows, as the report has it. */
export interface TraceOf {
  readonly title: string;
  readonly stepping: unknown;
  readonly diagrams: Record<string, { svg: string; prefix: string }>;
}

/** The systems and scenarios of a file. */
export interface Tests {
  readonly uri: string;
  readonly module: string;
  readonly tests: readonly Test[];
}

export interface Test {
  readonly kind: "system" | "scenario";
  readonly name: string;
  readonly title: string;
  readonly range: Place["range"];
}

/** A scenario played, with its run as text. Where it fails, also what the stepper shows. */
export interface Played {
  readonly name: string;
  readonly heading: string;
  readonly passed: boolean;
  readonly text: string;
  readonly trace: Trace;
  readonly stepping: unknown;
  readonly sources: readonly (Place | null)[];
  readonly diagrams?: TraceOf["diagrams"];
  readonly failure?: Place & { readonly message: string; readonly notes: readonly string[] };
}

export const DIAGRAM = "fsm/diagram";
export const VERIFY = "fsm.verify";
export const DRAW = "fsm.draw";
export const TRACE = "fsm.trace";
export const SYSTEMS = "fsm.systems";
export const TESTS = "fsm.tests";
export const TEST = "fsm.test";
