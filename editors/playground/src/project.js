// The project: where it comes from, and where it is kept. A link holds all of it in the fragment of its address.
import { note, noted } from "../static/place.js";

const KEY = "fsm-playground";
const LARGEST = 4 * 2 ** 20; // bytes; what a link unpacks to

async function through(stream, bytes, most = Infinity) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const pieces = [];
  for (let size = 0; ; ) {
    const { value, done } = await reader.read();
    if (done) return new Uint8Array(await new Blob(pieces).arrayBuffer());
    size += value.length;
    if (size > most) throw new Error("it is too large");
    pieces.push(value);
  }
}

/** Texts by name → part of an address. */
export async function packed(files) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(files)));
  const pieces = [];
  for (let at = 0; at < bytes.length; at += 4096) pieces.push(String.fromCharCode(...bytes.subarray(at, at + 4096)));
  return btoa(pieces.join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** And back. Throws for what is no project. */
export async function unpacked(code) {
  const bytes = Uint8Array.from(atob(code.replaceAll("-", "+").replaceAll("_", "/")), (x) => x.charCodeAt(0));
  return checked(JSON.parse(new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes, LARGEST))));
}

function checked(files) {
  const texts = files && typeof files === "object" && !Array.isArray(files) ? Object.values(files) : [];
  if (!texts.length || !texts.every((x) => typeof x === "string")) throw new Error("it holds no texts");
  return files;
}

/** The project to begin with, and what was wrong with the one that the address names. */
export async function firstProject(examples) {
  const named = (name) => examples.find((x) => x.name === name)?.files;
  const [code, example] = [noted("code"), noted("example")];
  if (code !== null) {
    try {
      return { files: await unpacked(code), wrong: "" };
    } catch {
      return { files: examples[0].files, wrong: "This link is damaged: the project in it cannot be read. Here is an example instead." };
    }
  }
  if (example !== null) {
    const files = named(example);
    return { files: files ?? examples[0].files, wrong: files ? "" : `There is no example \`${example}\`.` };
  }
  try {
    return { files: checked(JSON.parse(localStorage.getItem(KEY))), wrong: "" };
  } catch {
    return { files: examples[0].files, wrong: "" };
  }
}

/** Keeps the project in the address, and for a visit without one in the browser. */
export async function keep(files, embedded) {
  note({ code: await packed(files), example: null });
  if (embedded) return;
  try {
    localStorage.setItem(KEY, JSON.stringify(files));
  } catch {
    // full, or forbidden: the address has it
  }
}
