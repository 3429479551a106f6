/** The pages of panels: nothing from outside, and no script but the extension's own. */
import { randomBytes } from "node:crypto";

export interface Page {
  readonly title: string;
  readonly script: string;
  readonly style: string;
  /** What the editor calls the origin of local files. */
  readonly origin: string;
}

export function page({ title, script, style, origin }: Page): string {
  const nonce = randomBytes(16).toString("base64");
  const policy = `default-src 'none'; img-src ${origin} data:; style-src ${origin} 'unsafe-inline'; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escaped(policy)}">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<link rel="stylesheet" href="${escaped(style)}">
</head>
<body>
<main id="main"></main>
<script nonce="${nonce}" src="${escaped(script)}"></script>
</body>
</html>
`;
}

const SIGNS: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => SIGNS[sign]!);
}
