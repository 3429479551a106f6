/** The diagram beside the text: when it is drawn, and of what. */
import * as vscode from "vscode";
import { messageOf, type Client } from "./client";
import type { Panel } from "./panels";
import { DIAGRAM, type Diagram } from "./protocol";

const SETTLED = 120; // milliseconds without a move after which the diagram follows the cursor

/** Draws the machine that the cursor is in: on opening, and while the panel is there, at each move. */
export function following(client: Client, diagram: Panel<Diagram>): vscode.Disposable {
  let waiting: NodeJS.Timeout | undefined;
  const moved = (document: vscode.TextDocument | undefined) => {
    const follows = vscode.workspace.getConfiguration("fsmdsl").get("diagram.follow", true);
    if (document?.languageId !== "fsm" || !diagram.open || !follows) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => void draw(client, diagram, false), SETTLED);
  };
  return vscode.Disposable.from(
    vscode.window.onDidChangeTextEditorSelection((event) => moved(event.textEditor.document)),
    vscode.window.onDidChangeActiveTextEditor((editor) => moved(editor?.document)),
    vscode.workspace.onDidChangeTextDocument((event) => moved(event.document)),
    { dispose: () => clearTimeout(waiting) },
  );
}

export async function draw(client: Client, diagram: Panel<Diagram>, opening: boolean): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const running = client.running;
  if (opening && running === undefined)
    void vscode.window.showWarningMessage("The language server of state machines is not running.");
  if (editor?.document.languageId !== "fsm" || running === undefined) return;
  const { line, character } = editor.selection.active;
  const textDocument = { uri: editor.document.uri.toString() };
  try {
    const drawn = await running.sendRequest<Diagram>(DIAGRAM, { textDocument, position: { line, character } });
    if (opening || diagram.open) diagram.show(drawn.title || "diagram", drawn);
  } catch (error) {
    if (opening) void vscode.window.showErrorMessage(messageOf(error));
  }
}
