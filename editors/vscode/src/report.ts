/** The report of a workspace, as a task. */
import * as vscode from "vscode";
import { ADVICE, type Command } from "./server";

export async function report(command: Command | undefined): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  if (folder === undefined || command === undefined) {
    void vscode.window.showWarningMessage(folder === undefined ? "Open a folder of specs first." : ADVICE);
    return;
  }
  const out = vscode.Uri.joinPath(folder, "build", "report");
  const [program, ...first] = command;
  const task = new vscode.Task(
    { type: "fsmdsl" },
    vscode.TaskScope.Workspace,
    "report",
    "fsm",
    new vscode.ProcessExecution(program, [...first, "report", "--out", out.fsPath], { cwd: folder.fsPath }),
  );
  const execution = await vscode.tasks.executeTask(task);
  const ended = vscode.tasks.onDidEndTaskProcess(async (event) => {
    if (event.execution !== execution) return;
    ended.dispose();
    if (event.exitCode !== undefined && event.exitCode !== 2)
      await vscode.env.openExternal(vscode.Uri.joinPath(out, "index.html"));
  });
}
