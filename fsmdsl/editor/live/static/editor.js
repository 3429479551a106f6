// The editor: CodeMirror with the colours of the language, marks for findings, and completion.
import {
  Compartment, EditorState, EditorView, autocompletion, bracketMatching, closeBrackets, closeBracketsKeymap, completionKeymap,
  defaultKeymap, drawSelection, highlightActiveLine, highlightActiveLineGutter, highlightSelectionMatches, history,
  historyKeymap, indentOnInput, indentUnit, indentWithTab, isolateHistory, keymap, lineNumbers, lintGutter, lintKeymap, searchKeymap,
  setDiagnostics,
  hoverTooltip,
} from "./codemirror.js";
import { h } from "./dom.js";
import { WORDS, fsm } from "./language.js";
import { rendered } from "./markdown.js";

const nonce = document.querySelector("meta[name=nonce]").content;

const wrapping = new Compartment();

/**
 * `makeEditor(parent, { changed, moved, complete, hover })` → an editor that shows one of several texts, each with its
 * own history. `complete(at)` and `hover(at)` ask the server.
 */
export function makeEditor(parent, { changed, moved, complete, hover }) {
  const extensions = [
    EditorView.cspNonce.of(nonce),
    EditorState.lineSeparator.of("\n"),
    EditorView.contentAttributes.of({ "aria-label": "Text of the spec; Escape, then Tab, leaves it", tabindex: "0" }),
    lineNumbers(), highlightActiveLine(), highlightActiveLineGutter(), drawSelection(), history(), bracketMatching(),
    wrapping.of(EditorView.lineWrapping), closeBrackets(), indentOnInput(), indentUnit.of("    "), highlightSelectionMatches(), lintGutter(), fsm,
    autocompletion({ override: [completing(complete)], icons: false }),
    explaining(hover),
    keymap.of([
      ...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap,
      indentWithTab,
    ]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) changed();
      if (update.docChanged || update.selectionSet) moved();
    }),
    theme,
  ];
  const view = new EditorView({ parent, state: EditorState.create({ doc: "", extensions }) });

  let wrapped = EditorView.lineWrapping;

  /** Makes the change that a finding proposes; the text is still the one that was looked at. */
  function apply(fix) {
    view.dispatch({ changes: { from: fix.from, to: fix.to, insert: fix.text } });
  }

  return {
    view,
    /** The state of a text that has not been shown yet. */
    begin: (text) => EditorState.create({ doc: text, extensions }),
    show(state) {
      view.setState(state);
      view.dispatch({ effects: wrapping.reconfigure(wrapped) });
    },
    text: () => view.state.doc.toString(),
    cursor: () => view.state.selection.main.head,
    /** Replaces the whole text, as a change of its own that can be undone. */
    replace(text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, annotations: isolateHistory.of("full") });
    },
    /** Changes what is different, so that the cursor stays where it is. */
    become(text) {
      const before = view.state.doc.toString();
      const least = Math.min(before.length, text.length);
      let from = 0;
      while (from < least && before[from] === text[from]) from++;
      let same = 0;
      while (same < least - from && before.at(-1 - same) === text.at(-1 - same)) same++;
      if (before !== text) view.dispatch({ changes: { from, to: before.length - same, insert: text.slice(from, text.length - same) }, annotations: isolateHistory.of("full") });
    },
    /** Breaks long lines, or has them scrolled. */
    wrap(on) {
      wrapped = on ? EditorView.lineWrapping : [];
      view.dispatch({ effects: wrapping.reconfigure(wrapped) });
    },
    goto(from, to = from, focus = true) {
      const end = view.state.doc.length;
      const selection = { anchor: Math.min(from, end), head: Math.min(to, end) };
      view.dispatch({ selection, effects: EditorView.scrollIntoView(selection.anchor, { y: "center" }) });
      if (focus) view.focus();
    },
    mark(findings) {
      const end = view.state.doc.length;
      const marks = findings.map((x) => ({
        from: Math.min(x.from, end),
        // Of what goes over several lines, the first says it.
        to: Math.min(Math.max(x.to, x.from + 1), Math.max(view.state.doc.lineAt(Math.min(x.from, end)).to, Math.min(x.from + 1, end))),
        severity: { error: "error", warning: "warning", note: "info" }[x.severity],
        source: x.code,
        message: [x.message, ...x.notes, x.help].filter(Boolean).join("\n"),
        actions: x.fix ? [{ name: x.fix.title, apply: () => apply(x.fix) }] : [],
      }));
      view.dispatch(setDiagnostics(view.state, marks));
    },
  };
}

/** The server knows what could stand here; if it does not answer, there are the words of the text and of the language. */
function completing(complete) {
  return async (context) => {
    const word = context.matchBefore(/[A-Za-z_][A-Za-z0-9_]*/);
    const before = context.state.sliceDoc(Math.max(0, context.pos - 1), context.pos);
    if (!word && !context.explicit && before !== ".") return null;
    const told = await complete(context.pos).catch(() => null);
    if (told === null) return words(context, word);
    if (!told.options.length) return null;
    const options = told.options.map((x) => ({ label: x.label, detail: x.detail, info: x.doc ? () => h("div", {}, ...rendered(x.doc)) : undefined, boost: -x.rank }));
    return { from: told.from, options, validFor: /^[A-Za-z0-9_]*$/ };
  };
}

function words(context, word) {
  const own = new Set(context.state.doc.toString().match(/[A-Za-z_][A-Za-z0-9_]{2,}/g) ?? []);
  if (word) own.delete(word.text);
  return { from: word?.from ?? context.pos, options: [...new Set([...own, ...WORDS])].map((label) => ({ label })), validFor: /^[A-Za-z0-9_]*$/ };
}

function explaining(hover) {
  return hoverTooltip(async (view, at) => {
    const told = await hover(at).catch(() => null);
    if (!told?.text) return null;
    return { pos: told.from, end: told.to, above: true, create: () => ({ dom: h("div", { class: "explained" }, ...rendered(told.text)) }) };
  });
}

const theme = EditorView.theme({
  "&": { height: "100%", backgroundColor: "var(--page)", color: "var(--ink)", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "ui-monospace, 'SF Mono', Menlo, Consolas, 'Liberation Mono', monospace", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--page)", color: "var(--quiet)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--line-here)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection)" },
  ".cm-selectionMatch": { backgroundColor: "var(--match)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--match)", outline: "none" },
  ".cm-panels, .cm-tooltip": { backgroundColor: "var(--soft)", color: "var(--ink)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--page)" },
  ".cm-panels .cm-textfield, .cm-panels .cm-button, .cm-diagnosticAction": { background: "var(--page)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "4px" },
  ".cm-tooltip .explained": { padding: "6px 10px", maxWidth: "42rem", maxHeight: "20rem", overflow: "auto" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap", maxWidth: "36rem" },
});
