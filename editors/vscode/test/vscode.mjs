// As much of the editor as the extension and its language client talk to, for tests without an editor: texts that are
// opened and edited, events, diagnostics, commands, messages, panels. What nobody looks at does nothing.
import Module from "node:module";
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { TestController, TestMessage, TreeItem, TreeView } from "./views.mjs";

export class Editor {
  constructor(folder, settings = {}) {
    this.folder = folder;
    this.settings = settings;
    this.events = new Map();
    this.commands = new Map();
    this.providers = new Map();
    this.diagnostics = new Map();
    this.messages = [];
    this.panels = [];
    this.controllers = [];
    this.trees = new Map();
    this.extensions = new Map();
    this.answers = [];
    this.documents = [];
    this.vscode = this.module();
  }

  /** Loads a file as the editor would, with `vscode` there. */
  load(file) {
    const require = Module.createRequire(import.meta.url);
    const usual = Module._load;
    Module._load = (name, ...rest) => (name === "vscode" ? this.vscode : usual.call(Module, name, ...rest));
    try {
      delete require.cache[require.resolve(file)];
      return require(file);
    } finally {
      Module._load = usual;
    }
  }

  context(extension) {
    return { subscriptions: [], extensionUri: new Uri("file", extension) };
  }

  emit(name, value) {
    for (const heard of this.events.get(name) ?? []) heard(value);
  }

  // What a person does

  open(path, text) {
    const document = new TextDocument(new Uri("file", path), text);
    this.documents.push(document);
    const active = new Position(0, 0);
    this.vscode.window.activeTextEditor = { document, selection: { active } };
    this.emit("onDidOpenTextDocument", document);
    this.emit("onDidChangeActiveTextEditor", this.vscode.window.activeTextEditor);
    return document;
  }

  /** Puts a text in the place of the first that is like `before`. */
  type(document, before, after) {
    const offset = document.text.indexOf(before);
    const range = new Range(document.positionAt(offset), document.positionAt(offset + before.length));
    document.text = document.text.replace(before, after);
    document.version += 1;
    const contentChanges = [{ range, rangeOffset: offset, rangeLength: before.length, text: after }];
    this.emit("onDidChangeTextDocument", { document, contentChanges, reason: undefined });
  }

  point(document, text) {
    const active = document.positionAt(document.text.indexOf(text));
    const textEditor = this.vscode.window.activeTextEditor;
    textEditor.selection = { active };
    this.emit("onDidChangeTextEditorSelection", { textEditor, selections: [textEditor.selection] });
  }

  async run(command, ...given) {
    return await this.commands.get(command)?.(...given); // those of the editor itself do nothing
  }

  found(document) {
    return this.diagnostics.get(document.uri.toString()) ?? [];
  }

  module() {
    const editor = this;
    const on = (name) => (heard, self) => {
      const bound = self === undefined ? heard : heard.bind(self);
      editor.events.set(name, [...(editor.events.get(name) ?? []), bound]);
      return new Disposable(() => editor.events.set(name, editor.events.get(name).filter((x) => x !== bound)));
    };
    /** A namespace: what it has, else events, and calls that give something to dispose of. */
    const space = (has) =>
      new Proxy(has, {
        get: (target, name) => {
          if (typeof name === "symbol" || name in target) return target[name];
          if (/^on[A-Z]/.test(name)) return on(name);
          return (...given) => {
            editor.providers.set(name, [...(editor.providers.get(name) ?? []), given]);
            return quiet();
          };
        },
      });
    const say = (kind) => async (text, ...offered) => {
      editor.messages.push({ kind, text });
      const answer = editor.answers.shift();
      return offered.find((x) => x === answer);
    };
    const has = {
      version: "1.91.0",
      Uri, Position, Range, Disposable, CodeActionKind, Diagnostic, EventEmitter, CancellationTokenSource, Selection: Range,
      TestMessage, TreeItem,
      TestRunProfileKind: { Run: 1 },
      TreeItemCollapsibleState: { None: 0, Collapsed: 1, Expanded: 2 },
      ConfigurationTarget: { Global: 1, Workspace: 2 },
      Location: named("uri", "range"),
      ThemeIcon: named("id", "color"),
      ThemeColor: named("id"),
      DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
      DiagnosticTag: { Unnecessary: 1, Deprecated: 2 },
      ViewColumn: { Active: -1, Beside: -2, One: 1 },
      ProgressLocation: { SourceControl: 1, Window: 10, Notification: 15 },
      TextDocumentSaveReason: { Manual: 1 },
      env: space({ appName: "test", language: "en", uriScheme: "vscode", isTelemetryEnabled: false }),
      extensions: space({ all: [], getExtension: (id) => editor.extensions.get(id) }),
      tasks: space({}),
      tests: {
        createTestController: (id, label) => {
          const made = new TestController(id, label, new CancellationTokenSource().token);
          editor.controllers.push(made);
          return made;
        },
      },
      languages: space({
        match: (selector, document) => [selector].flat().some((x) => x.language === document.languageId) ? 10 : 0,
        createDiagnosticCollection: (name) => ({
          name,
          set: (uri, found) => editor.diagnostics.set(uri.toString(), [...(found ?? [])]),
          delete: (uri) => editor.diagnostics.delete(uri.toString()),
          has: (uri) => editor.diagnostics.has(uri.toString()),
          get: (uri) => editor.diagnostics.get(uri.toString()),
          clear: () => editor.diagnostics.clear(),
          dispose: () => undefined,
        }),
      }),
      commands: space({
        registerCommand: (name, run) => {
          editor.commands.set(name, run);
          return new Disposable(() => editor.commands.delete(name));
        },
        executeCommand: (name, ...given) => editor.run(name, ...given),
        getCommands: async () => [...editor.commands.keys()],
      }),
      window: space({
        activeTextEditor: undefined,
        visibleTextEditors: [],
        tabGroups: space({ all: [], onDidChangeTabs: on("onDidChangeTabs") }),
        showInformationMessage: say("information"),
        showWarningMessage: say("warning"),
        showErrorMessage: say("error"),
        showQuickPick: async (offered) => {
          editor.offered = offered;
          const chosen = offered.findIndex((x) => (x.label ?? x) === editor.answers[0]);
          if (chosen >= 0) editor.answers.shift();
          return offered[Math.max(chosen, 0)];
        },
        showInputBox: async () => editor.answers.shift(),
        showTextDocument: async (document) => void (editor.vscode.window.activeTextEditor = { document, selection: { active: new Position(0, 0) } }),
        createTreeView: (id, options) => {
          editor.trees.set(id, new TreeView(options));
          return editor.trees.get(id);
        },
        withProgress: (_, work) => work({ report: () => undefined }, new CancellationTokenSource().token),
        createOutputChannel: () => quiet({ logLevel: 3, onDidChangeLogLevel: on("onDidChangeLogLevel"), appendLine: (x) => editor.messages.push({ kind: "output", text: x }) }),
        createWebviewPanel: (kind, title) => {
          const panel = new WebviewPanel(kind, title);
          editor.panels.push(panel);
          return panel;
        },
      }),
      workspace: space({
        isTrusted: true,
        name: "test",
        get textDocuments() {
          return editor.documents;
        },
        notebookDocuments: [],
        workspaceFolders: [{ uri: new Uri("file", editor.folder), name: "test", index: 0 }],
        getConfiguration: (section) => {
          const full = (key) => (section ? `${section}.${key}` : key);
          return {
            get: (key, otherwise) => editor.settings[full(key)] ?? otherwise,
            has: (key) => full(key) in editor.settings,
            inspect: () => undefined,
            update: async (key, value) => {
              editor.settings[full(key)] = value;
              editor.emit("onDidChangeConfiguration", { affectsConfiguration: (x) => x === full(key) });
            },
          };
        },
        getWorkspaceFolder: () => ({ uri: new Uri("file", editor.folder), name: "test", index: 0 }),
        createFileSystemWatcher: () => quiet({ onDidCreate: on("x"), onDidChange: on("x"), onDidDelete: on("x") }),
        asRelativePath: (x) => String(x),
        openTextDocument: async ({ content }) => new TextDocument(new Uri("untitled", "/Untitled-1"), content),
        fs: space({ readFile: (uri) => readFile(uri.fsPath) }),
      }),
    };
    return new Proxy(has, {
      get: (target, name) => {
        if (typeof name === "symbol" || name in target) return target[name];
        // Classes that the client only derives from, and enumerations that it only passes on.
        return (target[name] = class {
          constructor(...given) {
            Object.assign(this, { given });
          }
        });
      },
    });
  }
}

/** A class whose instances have what they are made of, under these names. */
const named = (...names) =>
  class {
    constructor(...given) {
      names.forEach((name, n) => (this[name] = given[n]));
    }
  };

/** Something of which every method is there, and does nothing but what it has. */
const quiet = (has = {}) =>
  new Proxy(has, {
    get: (x, name) => (name in x ? x[name] : typeof name === "symbol" || name === "then" ? undefined : () => undefined),
  });

export class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}

export class Range {
  constructor(start, end, ...rest) {
    [this.start, this.end] = rest.length ? [new Position(start, end), new Position(...rest)] : [start, end];
  }
  get isEmpty() {
    return this.start.line === this.end.line && this.start.character === this.end.character;
  }
}

class Disposable {
  constructor(dispose) {
    this.dispose = dispose;
  }
  static from(...all) {
    return new Disposable(() => all.forEach((x) => x.dispose()));
  }
}

class Diagnostic {
  constructor(range, message, severity) {
    Object.assign(this, { range, message, severity });
  }
}

class CodeActionKind {
  constructor(value) {
    this.value = value;
  }
  append(part) {
    return new CodeActionKind(this.value ? `${this.value}.${part}` : part);
  }
  static Empty = new CodeActionKind("");
  static QuickFix = new CodeActionKind("quickfix");
  static Refactor = new CodeActionKind("refactor");
  static RefactorExtract = new CodeActionKind("refactor.extract");
  static RefactorInline = new CodeActionKind("refactor.inline");
  static RefactorRewrite = new CodeActionKind("refactor.rewrite");
  static Source = new CodeActionKind("source");
  static SourceOrganizeImports = new CodeActionKind("source.organizeImports");
}

class EventEmitter {
  heard = [];
  event = (heard, self) => {
    const bound = self === undefined ? heard : heard.bind(self);
    this.heard.push(bound);
    return new Disposable(() => (this.heard = this.heard.filter((x) => x !== bound)));
  };
  fire(value) {
    for (const x of [...this.heard]) x(value);
  }
  dispose() {
    this.heard = [];
  }
}

class CancellationTokenSource {
  token = { isCancellationRequested: false, onCancellationRequested: () => new Disposable(() => undefined) };
  cancel() {}
  dispose() {}
}

class Uri {
  constructor(scheme, fsPath) {
    Object.assign(this, { scheme, fsPath, path: fsPath, authority: "", query: "", fragment: "" });
  }
  static file(path) {
    return new Uri("file", path);
  }
  static parse(text) {
    const url = new URL(text);
    return new Uri(url.protocol.slice(0, -1), decodeURIComponent(url.pathname));
  }
  static joinPath(uri, ...parts) {
    return new Uri(uri.scheme, [uri.fsPath, ...parts].join("/"));
  }
  with(change) {
    return Object.assign(new Uri(this.scheme, this.fsPath), change);
  }
  toString() {
    return pathToFileURL(this.fsPath).href;
  }
}

class TextDocument {
  version = 1;
  languageId = "fsm";
  isClosed = false;
  isDirty = false;
  constructor(uri, text) {
    Object.assign(this, { uri, text, fileName: uri.fsPath });
  }
  getText() {
    return this.text;
  }
  get lineCount() {
    return this.text.split("\n").length;
  }
  positionAt(offset) {
    const before = this.text.slice(0, offset).split("\n");
    return new Position(before.length - 1, before.at(-1).length);
  }
}

class WebviewPanel {
  sent = [];
  constructor(kind, title) {
    Object.assign(this, { kind, title });
    const heard = [];
    this.webview = {
      html: "",
      cspSource: "https://panel.test",
      asWebviewUri: (uri) => `https://panel.test${uri.fsPath}`,
      postMessage: async (message) => (this.sent.push(message), true),
      onDidReceiveMessage: (x) => (heard.push(x), new Disposable(() => undefined)),
    };
    this.say = (message) => heard.forEach((x) => x(message));
    this.closed = [];
    this.onDidDispose = (x) => (this.closed.push(x), new Disposable(() => undefined));
  }
}
