// The texts that are open: what was typed, what it began with, and how it gets to the disk without losing anything.
import { ask } from "./api.js";
import { choose } from "./dialog.js";

/** `makeTexts(editor, { told, changed })`: `told(message)` in the banner, `changed()` after what is shown has changed. */
export function makeTexts(editor, { told, changed }) {
  const open = new Map(); // name → { state, version, saved }
  let current = null;
  let wanted = null; // the file that was asked for last, whose text may still be on its way
  let saving = null; // the saving that is under way
  const due = new Set(); // what is to be saved

  const entry = (name) => open.get(name);
  const textOf = (name) => (name === current ? editor.text() : entry(name).state.doc.toString());
  const isChanged = (name) => open.has(name) && textOf(name) !== entry(name).saved;

  /** Shows a file, unless another is asked for before its text comes. */
  async function show(name) {
    wanted = name;
    if (!open.has(name)) {
      try {
        const { text, version } = await ask("read", { name });
        if (!open.has(name)) open.set(name, { state: editor.begin(text), version, saved: text });
      } catch (error) {
        if (wanted === name) wanted = current;
        throw error;
      }
    }
    if (wanted !== name || name === current) return;
    if (current) entry(current).state = editor.view.state;
    current = name;
    editor.show(entry(name).state);
    changed();
  }

  /** Takes over what is on disk, as a change that can be undone. */
  function take(now) {
    const mine = entry(now.name);
    Object.assign(mine, { version: now.version, saved: now.text });
    told("");
    if (now.name === current) editor.replace(now.text);
    else mine.state = mine.state.update({ changes: { from: 0, to: mine.state.doc.length, insert: now.text } }).state;
    changed();
  }

  /** One write at a time: of two at once, the second would take the first for somebody else's. */
  function save(names = current ? [current] : []) {
    for (const name of names) if (isChanged(name)) due.add(name);
    return (saving ??= saved());
  }

  async function saved() {
    await null; // `saving` is set
    try {
      for (const name of due) {
        due.delete(name);
        if (!isChanged(name)) continue;
        await write(name);
        changed();
      }
    } finally {
      saving = null;
    }
  }

  async function write(name) {
    const mine = entry(name);
    const text = textOf(name);
    try {
      const { version } = await ask("write", { name, text, base: mine.version });
      Object.assign(mine, { version, saved: text });
      told("");
    } catch (error) {
      if (error.status !== 409) told(error.message);
      else if (error.now?.text === text) Object.assign(mine, { version: error.now.version, saved: text }); // it is there already
      else await settle(name, error.now);
    }
  }

  /** Somebody else has written to the file meanwhile. Both texts are kept: the other one is an undo away. */
  async function settle(name, now) {
    if (now === null) {
      told(`${name} is gone from the disk, or cannot be read; the text here is not saved.`);
      return;
    }
    due.delete(name); // however often it was asked for till now
    const answer = await choose({
      title: "The file has changed on disk",
      text: `Somebody has written to \`${name}\` since it was opened here. Nothing is lost whichever you take: Undo brings the other text back.`,
      answers: [["theirs", "Show what is on disk"], ["mine", "Write what is here"], ["", "Not now"]],
    });
    if (answer === "theirs") take(now);
    if (answer !== "mine") return;
    const text = textOf(name);
    if (name === current) {
      editor.replace(now.text);
      editor.replace(text);
    }
    Object.assign(entry(name), { version: now.version, saved: now.text });
    due.add(name);
  }

  const versions = () => new Map([...open].map(([name, x]) => [name, x.version]));

  /**
   * What has changed on disk: taken over where nothing was typed, else told. `before`: the versions when it was asked what
   * there is. What was opened or saved here since, the next look tells.
   */
  async function compare(files, before) {
    const same = (name) => !saving && open.has(name) && before.get(name) === entry(name).version;
    for (const { name, version } of files) {
      if (!same(name) || version === entry(name).version) continue;
      if (isChanged(name)) {
        told(`${name} has changed on disk; saving will ask what to do.`);
        continue;
      }
      const now = await ask("read", { name });
      if (same(name) && now.version !== entry(name).version && !isChanged(name)) take(now);
    }
  }

  addEventListener("beforeunload", (event) => {
    if ([...open.keys()].some(isChanged)) event.preventDefault();
  });

  return {
    show, save, compare, isChanged, versions,
    saveAll: () => save([...open.keys()]),
    get current() {
      return current;
    },
    get wanted() {
      return wanted;
    },
    /** What was typed and is not on disk. */
    typed: () => Object.fromEntries([...open.keys()].filter(isChanged).map((name) => [name, textOf(name)])),
  };
}
