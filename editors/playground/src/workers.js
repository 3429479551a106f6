// The questions of the page, answered by workers in the browser instead of a server: see `use` in static/api.js.
import { Refused } from "../static/api.js";

const PATIENCE = 60_000; // milliseconds for a layout, after which Graphviz is begun anew

const aborted = () => new DOMException("not wanted any more", "AbortError");

/** A worker, asked one thing at a time; what is not wanted any more before its turn is left out. */
function makeQueue(begin) {
  let worker = begin();
  let last = Promise.resolve();
  let count = 0;

  /** → what the worker answers to `message`. `timeout`: after so many milliseconds it is ended, and another begun. */
  function ask(message, signal, timeout = null) {
    const answer = last.then(() => (signal?.aborted ? Promise.reject(aborted()) : sent(message, timeout)));
    last = answer.catch(() => {});
    return signal ? Promise.race([answer, stopped(signal)]) : answer;
  }

  function sent(message, timeout) {
    return new Promise((resolve) => {
      const id = ++count;
      const timer = timeout === null ? null : setTimeout(() => {
        worker.terminate();
        worker = begin();
        resolve({ error: "it took too long" });
      }, timeout);
      worker.addEventListener("message", function heard({ data }) {
        if (data.id !== id) return;
        clearTimeout(timer);
        worker.removeEventListener("message", heard);
        resolve(data);
      });
      worker.postMessage({ ...message, id });
    });
  }

  return { ask };
}

const stopped = (signal) => new Promise((_, reject) => {
  if (signal.aborted) reject(aborted());
  signal.addEventListener("abort", () => reject(aborted()), { once: true });
});

/**
 * `makeWorkers({ files, changed, plain })` → `{ way, ready, ask }`: `way` is for `use`, `ready` settles when Python
 * answers; it fails where it never will. `files` are the project's texts by name, `changed()` is called after each change
 * to what is saved.
 */
export function makeWorkers({ files, changed, plain }) {
  const address = (name) => new URL(`./${name}`, import.meta.url);
  const module = { type: "module" };
  const python = () => new Worker(`${address("worker.js")}${plain ? "?plain" : ""}`, module);
  let answering = null;
  const ready = new Promise((resolve, reject) => {
    answering = python();
    answering.addEventListener("message", ({ data }) => data.id === 0 && (data.error ? reject(new Error(data.error)) : resolve()));
    answering.addEventListener("error", (event) => reject(new Error(event.message || "a worker cannot be started")));
  });
  const language = makeQueue(() => answering);
  const graphviz = makeQueue(() => new Worker(address("graphviz.js"), module));
  let spare = null; // begun before it is needed: it takes a second
  const reserve = () => (spare ??= python());
  let done = false;
  ready.then(() => (done = true), () => {});
  const begun = early(files);
  const opened = asked("open", { files });

  async function asked(name, question, signal) {
    const { status, content } = await language.ask({ name, question }, signal);
    if (status !== 200) throw new Refused(content.error, status, content.now);
    return content;
  }

  async function ask(name, question, signal) {
    const known = done ? null : await begun(name, question);
    if (known) return known;
    await Promise.race([opened, ready.then(() => opened)]);
    if (name === "diagram") return drawn(question, signal);
    const answer = await asked(name, question, signal);
    if (["write", "create", "save-run"].includes(name)) await changed();
    return answer;
  }

  async function drawn(question, signal) {
    const { dot, ...answer } = await asked("diagram", question, signal);
    if (dot === undefined) return answer;
    const { svg, error } = await graphviz.ask({ dot }, signal, PATIENCE);
    const found = error === undefined ? { svg } : { message: `Graphviz failed: ${error}` };
    const rest = await asked("drawn", { key: answer.key, whole: question.whole, ...found }, signal);
    return { machine: answer.machine, ...rest };
  }

  /** An exploration in a worker of its own, which is ended with it when it is not wanted any more. */
  async function listen(name, question, signal, told) {
    const job = await ask("job", question, signal);
    const worker = reserve();
    spare = null;
    try {
      await Promise.race([stopped(signal), explored(worker, job, told)]);
      spare ??= worker;
    } catch (error) {
      worker.terminate();
      setTimeout(reserve, 1000);
      throw error;
    }
  }

  ready.then(() => setTimeout(reserve, 1500), () => {});
  return { way: { autosave: true, ask, listen }, ready: ready.then(() => opened), ask };
}

function explored(worker, job, told) {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => {
      if (data.id !== 1) return;
      if (data.event) told(data.event, data.content);
      else if (data.status) reject(new Refused(data.content.error, data.status));
      else resolve();
    };
    worker.onerror = (event) => reject(new Refused(event.message || "the exploration ended early", 500));
    worker.postMessage({ id: 1, job });
  });
}

/** Answers what can be answered before Python is there: which files there are, and their texts. */
function early(files) {
  const version = async (text) => {
    const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
    return [...sum.slice(0, 16)].map((x) => x.toString(16).padStart(2, "0")).join("");
  };
  const named = Object.entries(files).map(([name, text]) => [`specs/${name}`, text]).sort(([a], [b]) => (a < b ? -1 : 1));
  return async (name, question) => {
    if (!globalThis.crypto?.subtle) return null;
    if (name === "files") return { files: await Promise.all(named.map(async ([x, text]) => ({ name: x, version: await version(text) }))) };
    const found = name === "read" ? named.find(([x]) => x === question.name) : undefined;
    return found ? { name: found[0], text: found[1], version: await version(found[1]) } : null;
  };
}
