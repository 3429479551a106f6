// The extension as it is shipped, talking to the real language server; the editor is `vscode.mjs`.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { Editor } from "./vscode.mjs";

const here = resolve(".");
const FSM =
  process.env.FSM ??
  [resolve("../../.venv/bin"), ...process.env.PATH.split(delimiter)].map((x) => join(x, "fsm")).find((x) => existsSync(x));
const skip = FSM ? false : "NO `fsm` PROGRAM: the extension was not tested against the language server";

const LEASE = `module lease

/// One node, lent to one job at a time.
machine Node {
    initial state Idle
    state Lent

    event lend, take_back from environment

    lend: Idle -> Lent  on lend
    back: Lent -> Idle  on take_back
}

system Two {
    nodes: Node[2]

    environment {
        some n in nodes: n.lend
        some n in nodes: n.take_back
    }

    invariant one: count n in nodes: n in Lent <= 1
}

scenario once "lent and taken back" of Two {
    n0.lend
    n0.take_back
    expect n0 in Idle
}

scenario twice "lent to two" of Two {
    n0.lend
    n0.lend
}
`.replace("count n in nodes: n in Lent <= 1", "(count n in nodes: n in Lent) <= 1");

let editor, extension, folder;

async function until(what, seconds = 30) {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
    const found = await what();
    if (found) return found;
    await new Promise((later) => setTimeout(later, 20));
  }
  throw new Error(`never: ${what}`);
}

async function started(settings) {
  const made = new Editor(folder, settings);
  const loaded = made.load(join(here, "dist/extension.js"));
  await loaded.activate(made.context(here));
  return [made, loaded];
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "fsm-workspace-"));
  await mkdir(join(folder, "specs"));
  await writeFile(join(folder, "specs", "lease.fsm"), LEASE);
  if (!skip) [editor, extension] = await started({ "fsmdsl.command": FSM });
});
after(() => extension?.deactivate());

test("what is wrong is shown as one types, and goes when it is mended", { skip }, async () => {
  const document = editor.open(join(folder, "specs", "lease.fsm"), LEASE);
  const clean = (x) => x.code !== undefined && !String(x.code?.value ?? x.code).startsWith("FSM3");
  await until(() => editor.diagnostics.has(document.uri.toString()));
  assert.deepEqual(editor.found(document).filter(clean).filter((x) => x.severity === 0), []);
  editor.type(document, "Idle -> Lent", "Idle -> Lend");
  const [error] = await until(() => editor.found(document).filter((x) => x.severity === 0).length && editor.found(document));
  assert.match(error.message, /Lend/);
  assert.equal(document.text.split("\n")[error.range.start.line].slice(error.range.start.character, error.range.end.character), "Lend");
  editor.type(document, "Idle -> Lend", "Idle -> Lent");
  await until(() => !editor.found(document).some((x) => /Lend/.test(x.message)));
});

test("the violated property is marked a moment later", { skip }, async () => {
  const [document] = editor.documents;
  const marked = await until(() => editor.found(document).find((x) => /`one` does not hold in every state/.test(x.message)));
  assert.match(document.text.split("\n")[marked.range.start.line], /invariant one/);
});

test("the diagram stands beside the text and follows the cursor", { skip }, async () => {
  const [document] = editor.documents;
  editor.point(document, "Idle -> Lent");
  await editor.run("fsmdsl.diagram");
  const panel = await until(() => editor.panels.find((x) => x.kind === "fsmdsl.diagram"));
  panel.say("ready");
  const [first] = await until(() => panel.sent.length && panel.sent);
  assert.match(first.svg, /<svg/);
  assert.match(first.machine, /Node/);
  const count = panel.sent.length;
  editor.point(document, "state Lent");
  await until(() => panel.sent.length > count);
});

test("a system is verified, and its counterexample stepped through", { skip }, async () => {
  const [document] = editor.documents;
  editor.answers.push("Step through it");
  await editor.run("fsmdsl.verify", document.uri.toString(), "Two");
  assert.ok(editor.messages.some((x) => x.kind === "warning" && /Two: violated/.test(x.text)), JSON.stringify(editor.messages));
  assert.ok(editor.messages.some((x) => x.kind === "output" && /invariant one/.test(x.text)));
  const panel = await until(() => editor.panels.find((x) => x.kind === "fsmdsl.trace"));
  panel.say("ready");
  const [run] = await until(() => panel.sent.length && panel.sent);
  assert.deepEqual(run.stepping.steps.map((x) => x.text), ["n0.lend", "n1.lend"]);
  assert.ok(Object.keys(run.diagrams).length > 0);
});

test("the results show the verdicts, and the counterexample with its places", { skip }, async () => {
  const [document] = editor.documents;
  const tree = editor.trees.get("fsmdsl.results");
  const [[system, summary, verdicts]] = tree.shown();
  assert.deepEqual([system, summary], ["Two", "violated, 4 states"]);
  const steps = [["n0.lend", "n0: lend Idle → Lent", []], ["n1.lend", "n1: lend Idle → Lent", []]].map(([x, ...rest], n) => [`${n + 1}  ${x}`, ...rest]);
  assert.deepEqual(verdicts.find((x) => x[0] === "invariant one"), ["invariant one", "violated", steps]);
  assert.ok(verdicts.some((x) => x[1] === "holds"), JSON.stringify(verdicts));
  assert.equal(tree.revealed.at(-1), "invariant one");
  const broken = tree.provider.getChildren(tree.provider.getChildren()[0]).find((x) => x.violation);
  const items = [broken, ...tree.provider.getChildren(broken)].map((x) => tree.provider.getTreeItem(x));
  const lines = items.map((x) => document.text.split("\n")[x.command.arguments[1].selection.start.line].trim());
  assert.deepEqual(lines, ["invariant one: (count n in nodes: n in Lent) <= 1", "lend: Idle -> Lent  on lend", "lend: Idle -> Lent  on lend"]);
  await editor.run("fsmdsl.results.step", broken);
  assert.equal(editor.panels.find((x) => x.kind === "fsmdsl.trace").sent.at(-1).title, "lease.Two: invariant one");
  await editor.run("fsmdsl.results.clear");
  assert.deepEqual(tree.shown(), []);
});

test("the test explorer runs systems and scenarios, and a failure has its run and its place", { skip }, async () => {
  const [document] = editor.documents;
  const [controller] = editor.controllers;
  await until(() => controller.test("twice"));
  assert.deepEqual([...controller.items].map(([, x]) => x.label), ["lease"]);
  const outcomes = await controller.run();
  const told = Object.fromEntries(Object.entries(outcomes).map(([label, x]) => [label, x.outcome]));
  assert.deepEqual(told, { Two: "failed", once: "passed", twice: "failed" });
  const [broken] = outcomes.Two.messages;
  assert.match(broken.message, /^invariant one is violated\n[^]*n0\.lend[^]*n1\.lend/);
  const lineOf = (x) => document.text.split("\n")[x.location.range.start.line].trim();
  assert.equal(lineOf(broken), "invariant one: (count n in nodes: n in Lent) <= 1");
  const [failed] = outcomes.twice.messages;
  assert.match(failed.message, /`twice`: .*lend[^]*n0\.lend/);
  assert.deepEqual([lineOf(failed), failed.location.range.start.line], ["n0.lend", document.text.split("\n").lastIndexOf("    n0.lend")]);
  assert.match(controller.output, /\r\n/);
  assert.deepEqual(Object.keys(await controller.run(controller.test("once"))), ["once"]);
  await editor.run("fsmdsl.testing.step", controller.test("twice"));
  const shown = editor.panels.find((x) => x.kind === "fsmdsl.trace").sent.at(-1);
  assert.deepEqual([shown.title, shown.stepping.steps.length], ["twice lent to two", 2]);
});

test("tests come and go with the text", { skip }, async () => {
  const [document] = editor.documents;
  const [controller] = editor.controllers;
  editor.type(document, "scenario twice", "scenario again");
  await until(() => controller.test("again"));
  assert.equal(controller.test("twice"), undefined);
  editor.type(document, "scenario again", "scenario twice");
});

test("an interpreter is selected, and its fsm is started", { skip }, async () => {
  const python = join(dirname(FSM), "python");
  const [other, loaded] = await started({ "fsmdsl.command": FSM });
  const first = loaded.running();
  assert.ok(first);
  other.answers.push("$(edit) Enter a path…", "/usr/bin/false");
  await other.run("fsmdsl.selectInterpreter");
  assert.equal(other.offered.at(-1).label, "$(search) Find it");
  assert.match(other.messages.at(-1).text, /has no fsmdsl\. Install it there/);
  other.settings["fsmdsl.command"] = "";
  other.answers.push("$(edit) Enter a path…", python);
  await other.run("fsmdsl.selectInterpreter");
  assert.equal(other.settings["fsmdsl.interpreter"], python);
  await until(() => loaded.running() && loaded.running() !== first);
  await loaded.deactivate();
});

test("the choice of the Python extension is followed", { skip }, async () => {
  let changed;
  const made = new Editor(folder, {});
  const environments = {
    known: [],
    path: undefined,
    getActiveEnvironmentPath: () => environments.path,
    resolveEnvironment: async (path) => path && { executable: { uri: { fsPath: path } } },
    onDidChangeActiveEnvironmentPath: (x) => ((changed = x), { dispose() {} }),
  };
  made.extensions.set("ms-python.python", { activate: async () => ({ environments }) });
  const path = process.env.PATH;
  process.env.PATH = "";
  try {
    const loaded = made.load(join(here, "dist/extension.js"));
    await loaded.activate(made.context(here));
    assert.equal(loaded.running(), undefined);
    environments.path = join(dirname(FSM), "python");
    changed();
    await until(() => loaded.running());
    await loaded.deactivate();
  } finally {
    process.env.PATH = path;
  }
});

test("the example is a new text", async () => {
  const [other, loaded] = await started({ "fsmdsl.command": FSM ?? "/bin/false" });
  await other.run("fsmdsl.example");
  assert.match(other.vscode.window.activeTextEditor.document.text, /^module gang/);
  await loaded.deactivate();
});

test("formatting, completion, symbols and lenses are there", { skip }, async () => {
  for (const name of [
    "registerDocumentFormattingEditProvider", "registerCompletionItemProvider", "registerHoverProvider",
    "registerDefinitionProvider", "registerRenameProvider", "registerDocumentSymbolProvider", "registerCodeLensProvider",
    "registerCodeActionsProvider", "registerFoldingRangeProvider", "registerDocumentSemanticTokensProvider",
    "registerInlayHintsProvider",
  ]) assert.ok(editor.providers.has(name), name);
});

test("a text is formatted while the server has the same, and left alone when it has another", { skip }, async () => {
  const [document] = editor.documents;
  const provider = editor.providers.get("registerDocumentFormattingEditProvider").at(-1).find((x) => x?.provideDocumentFormattingEdits);
  const never = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) };
  const format = () => provider.provideDocumentFormattingEdits(document, { tabSize: 4, insertSpaces: true }, never);
  assert.ok((await format()).length > 0);
  const [text, messages] = [document.text, editor.messages.length];
  document.text = text.replace("lend", "\u2028end"); // and the server is not told
  const edits = await format().catch((error) => String(error));
  assert.match(JSON.stringify([edits, editor.messages.slice(messages)]), /no changes were made.*its checksum is another/);
  document.text = text;
});

test("without a program, the user is told how to get one", async () => {
  const path = process.env.PATH;
  process.env.PATH = "";
  try {
    const [other, loaded] = await started({});
    assert.match(other.messages[0].text, /pip install 'fsmdsl\[lsp,svg,fast\]'/);
    await loaded.deactivate();
  } finally {
    process.env.PATH = path;
  }
});

test("in a workspace that is not trusted, nothing is started", async () => {
  const other = new Editor(folder, { "fsmdsl.command": "/bin/false" });
  other.vscode.workspace.isTrusted = false;
  const loaded = other.load(join(here, "dist/extension.js"));
  await loaded.activate(other.context(here));
  assert.deepEqual(other.messages, []);
  await loaded.deactivate();
});
