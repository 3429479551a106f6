// The colours of the text: a small grammar of tokens. What a name means is the server's business.
import { HighlightStyle, StreamLanguage, syntaxHighlighting, tags } from "./codemirror.js";

// What follows is made by `python -m fsmdsl.editor.word_lists`, from fsmdsl/syntax/words.py.
const KEYWORD = new Set(["module", "import", "source", "at", "machine", "system", "scenario", "enum", "record", "opaque", "channel", "locks", "operation", "let", "param", "state", "event", "action", "invariant", "property", "reachable", "ignore", "amends", "priority", "layout", "map", "start", "may", "explore", "environment", "recover"]);
const MODIFIER = new Set(["durable", "initial", "final", "resting", "persistent", "volatile", "transient", "error", "async", "replaces", "rows", "columns", "any", "lossy", "duplicating", "waiting", "fifo", "bag", "each", "symmetric", "read", "write", "child", "extends", "refines", "under", "weak", "strong", "fair", "finitely", "many", "crashes", "recovers", "between", "writes", "during", "recovery", "on", "entry", "exit", "after", "when", "do", "for", "if", "then", "else", "rest", "while", "from", "to", "of", "with", "add", "remove", "send", "expect", "fails", "via", "timeout", "deliver", "lose", "duplicate", "crash"]);
const LOGIC = new Set(["and", "or", "not", "in", "has", "all", "some", "count", "always", "eventually", "next", "until"]);
const ATOM = new Set(["true", "false", "none", "self", "wait", "index"]);
const TYPENAME = new Set(["set", "list", "bool", "duration"]);
// end of what is made

function token(stream, state) {
  if (stream.eatSpace()) return null;
  if (stream.match("///")) return stream.skipToEnd(), "docComment";
  if (stream.match("//")) return stream.skipToEnd(), "comment";
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
  if (stream.match(/^\d+(?:ms|min|s|h|d)?\b/)) return "number";
  if (stream.match(/^(?:->|=>|~>|==|!=|<=|>=|\.\.|[=<>+\-&|?*])/)) return "operator";
  const found = stream.match(/^[A-Za-z_][A-Za-z0-9_]*/);
  if (found) return kind(found[0], stream, state);
  stream.next();
  return null;
}

function kind(word, stream, state) {
  const before = state.last;
  state.last = word;
  if (stream.match(/^\s*:(?!:)/, false) && !KEYWORD.has(word) && stream.string.slice(0, stream.start).trim() === "") return "labelName";
  if (KEYWORD.has(word)) return "keyword";
  if (before === "machine" || before === "system" || before === "scenario" || before === "state") return "definition";
  if (MODIFIER.has(word)) return "modifier";
  if (LOGIC.has(word)) return "logic";
  if (ATOM.has(word)) return "atom";
  if (TYPENAME.has(word)) return "typeName";
  return /^[A-Z]/.test(word) ? "typeName" : "variableName";
}

const language = StreamLanguage.define({
  name: "fsm",
  startState: () => ({ last: "" }),
  copyState: (state) => ({ ...state }),
  token,
  tokenTable: {
    docComment: tags.docComment, labelName: tags.labelName, definition: tags.definition(tags.typeName),
    modifier: tags.modifier, logic: tags.logicOperator, atom: tags.atom, typeName: tags.typeName,
    variableName: tags.variableName, operator: tags.operator,
  },
  languageData: { commentTokens: { line: "//" }, closeBrackets: { brackets: ["(", "[", "{", '"'] } },
});

const style = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--keyword)", fontWeight: "600" },
  { tag: [tags.modifier, tags.logicOperator], color: "var(--keyword)" },
  { tag: tags.definition(tags.typeName), color: "var(--type)", fontWeight: "600" },
  { tag: tags.typeName, color: "var(--type)" },
  { tag: tags.labelName, color: "var(--label)", fontWeight: "600" },
  { tag: [tags.atom, tags.number], color: "var(--number)" },
  { tag: tags.string, color: "var(--string)" },
  { tag: tags.comment, color: "var(--quiet)" },
  { tag: tags.docComment, color: "var(--doc)", fontStyle: "italic" },
]);

export const fsm = [language, syntaxHighlighting(style)];

/** Every word of the language, for completion. */
export const WORDS = [...KEYWORD, ...MODIFIER, ...LOGIC, ...ATOM, ...TYPENAME];
