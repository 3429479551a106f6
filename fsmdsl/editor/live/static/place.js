// Where the person is, as part of the address: a reload, or a link, leads there again.

const PAUSE = 300; // milliseconds; browsers do not bear an address that changes all the time

const changes = new Map();
let timer = null;

const parts = () => new URLSearchParams(location.hash.slice(1));

/** Write down what has changed. */
export function flush() {
  clearTimeout(timer);
  timer = null;
  if (!changes.size) return;
  const now = parts();
  for (const [name, value] of changes) {
    if (value === null) now.delete(name);
    else now.set(name, value);
  }
  changes.clear();
  const address = now.size ? `#${now}` : `${location.pathname}${location.search}`;
  if (address !== location.hash) history.replaceState(history.state, "", address);
}

/** `note({ file: "specs/a.fsm", step: null })`; null: no such part. Written down after a pause. */
export function note(found) {
  for (const [name, value] of Object.entries(found)) changes.set(name, value === null ? null : String(value));
  timer ??= setTimeout(flush, PAUSE);
}

/** A part of the address, or null. */
export const noted = (name) => parts().get(name);

addEventListener("pagehide", flush);
