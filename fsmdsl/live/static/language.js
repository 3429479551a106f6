// The colours of the text: a small grammar of tokens. What a name means is the server's business.
import { HighlightStyle, StreamLanguage, syntaxHighlighting, tags } from "./codemirror.js";

const words = (text) => new Set(text.split(" "));

const DECLARES = words(
  "module import source at enum opaque machine system scenario channel locks operation let param state event action " +
    "invariant reachable property ignore amends replaces environment recover priority map start",
);
const SAYS = words(
  "initial final persistent volatile transient error durable symmetric async lossy duplicating waiting fifo bag from to of on " +
    "entry exit after when do send for if then else crash between during writes recovery timeout deliver lose duplicate " +
    "expect via fails with in under fair strong finitely many recovers extends refines wait any",
);
const REASONS = words("all some count and or not has always eventually next until");
const VALUES = words("true false none self index");
const TYPES = words("bool set list duration");

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
  if (stream.match(/^\s*:(?!:)/, false) && !DECLARES.has(word) && stream.string.slice(0, stream.start).trim() === "") return "labelName";
  if (DECLARES.has(word)) return "keyword";
  if (before === "machine" || before === "system" || before === "scenario" || before === "state") return "definition";
  if (SAYS.has(word) || (word === "crashes" && before === "many")) return "modifier";
  if (REASONS.has(word)) return "logic";
  if (VALUES.has(word)) return "atom";
  if (TYPES.has(word)) return "typeName";
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
export const WORDS = [...DECLARES, ...SAYS, ...REASONS, ...VALUES, ...TYPES];
