/** Of which text the editor speaks: the server compares it with its own, and changes nothing in another. */
import { createHash } from "node:crypto";

/** Requests that are answered by changes of a text. */
const CHANGING = new Set(["formatting", "rangeFormatting", "rename", "codeAction"].map((x) => `textDocument/${x}`));

/** SHA-256 of the UTF-16 code units, low bytes first. */
export function checksum(text: string): string {
  return createHash("sha256").update(Buffer.from(text, "utf16le")).digest("hex");
}

/** The parameters of a request, with the checksum of the text that they are about; `textOf` finds it by its address. */
export function vouched(method: string, params: unknown, textOf: (uri: string) => string | undefined): unknown {
  const uri = (params as { textDocument?: { uri?: unknown } } | undefined)?.textDocument?.uri;
  if (!CHANGING.has(method) || typeof uri !== "string") return params;
  const text = textOf(uri);
  return text === undefined ? params : { ...(params as object), fsmChecksum: checksum(text) };
}
