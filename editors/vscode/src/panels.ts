/** The diagram beside the text, and the stepper of a counterexample. */
import * as vscode from "vscode";
import { page } from "./page";
import type { Diagram, TraceOf } from "./protocol";

/** A panel that shows one kind of thing, and is made again when it was closed. */
class Panel<Shown> {
  private panel: vscode.WebviewPanel | undefined;
  private ready = false;
  private last: Shown | undefined;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly kind: string,
  ) {}

  get open(): boolean {
    return this.panel !== undefined;
  }

  /** What it showed last is kept until there is something else. */
  show(title: string, shown: Shown): void {
    const panel = (this.panel ??= this.made());
    panel.title = title;
    this.last = shown;
    if (this.ready) void panel.webview.postMessage(shown);
  }

  private made(): vscode.WebviewPanel {
    const dist = vscode.Uri.joinPath(this.context.extensionUri, "dist");
    const panel = vscode.window.createWebviewPanel(
      `fsmdsl.${this.kind}`,
      this.kind,
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      { enableScripts: true, localResourceRoots: [dist], retainContextWhenHidden: true },
    );
    const file = (name: string) => panel.webview.asWebviewUri(vscode.Uri.joinPath(dist, name)).toString();
    this.ready = false;
    panel.webview.onDidReceiveMessage(() => {
      this.ready = true;
      void panel.webview.postMessage(this.last);
    });
    panel.onDidDispose(() => (this.panel = undefined));
    panel.webview.html = page({
      title: this.kind,
      script: file(`${this.kind}.js`),
      style: file(`${this.kind}.css`),
      origin: panel.webview.cspSource,
    });
    return panel;
  }
}

export function diagramPanel(context: vscode.ExtensionContext): Panel<Diagram> {
  return new Panel(context, "diagram");
}

export function tracePanel(context: vscode.ExtensionContext): Panel<TraceOf> {
  return new Panel(context, "trace");
}

export type { Panel };
