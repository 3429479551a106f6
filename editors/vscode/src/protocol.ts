/** What the language server is asked beyond the protocol that all editors speak. */

export interface Position {
  readonly line: number;
  readonly character: number;
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
  readonly systems: readonly { readonly verdict: string; readonly verdicts: readonly Verdict[] }[];
  readonly text: string;
}

export interface Verdict {
  readonly kind: string;
  readonly name: string;
  readonly outcome: string;
  readonly trace: unknown;
}

export interface TraceOf {
  readonly title: string;
  readonly text: string;
  /** What the stepper shows, as the report has it. */
  readonly stepping: unknown;
  readonly diagrams: Record<string, { svg: string; prefix: string }>;
}

export const DIAGRAM = "fsm/diagram";
export const VERIFY = "fsm.verify";
export const DRAW = "fsm.draw";
export const TRACE = "fsm.trace";
export const SYSTEMS = "fsm.systems";
