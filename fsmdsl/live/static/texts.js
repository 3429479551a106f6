// The texts that are open: what was typed, what it began with, and how it gets to the disk without losing anything.
import { ask } from "./api.js";
import { choose } from "./dialog.js";

/** `makeTexts(editor, { told, changed })`: `told(message)` in the banner, `changed()` after what is shown has changed. */
export function makeTexts(editor, { told, changed }) {
  const open = new Map(); // name → { state, version, saved }
  let current = null;

  const entry = (name) => open.get(name);
  const textOf = (name) => (name === current ? editor.text() : entry(name).state.doc.toString());
  const isChanged = (name) => open.has(name) && textOf(name) !== entry(name).saved;

  async function show(name) {
    if (name === current) return;
    if (!open.has(name)) {
      const { text, version } = await ask("read", { name });
      open.set(name, { state: editor.begin(text), version, saved: text });
    }
    if (current) entry(current).state = editor.view.state;
    current = name;
    editor.show(entry(name).state);
    changed();
  }

  /** Takes over what is on disk, as a change that can be undone. */
  function take(now) {
    const mine = entry(now.name);
    Object.assign(mine, { version: now.version, saved: now.text });
    if (now.name === current) editor.replace(now.text);
    else mine.state = mine.state.update({ changes: { from: 0, to: mine.state.doc.length, insert: now.text } }).state;
    changed();
  }

  async function save() {
    if (!current || !isChanged(current)) return;
    const mine = entry(current);
    const [name, text] = [current, editor.text()];
    try {
      const { version } = await ask("write", { name, text, base: mine.version });
      Object.assign(mine, { version, saved: text });
      told("");
    } catch (error) {
      if (error.status === 409) await settle(name, text, error.now);
      else told(error.message);
    }
    changed();
  }

  /** Somebody else has written to the file meanwhile. Both texts are kept: the other one is an undo away. */
  async function settle(name, text, now) {
    if (now === null) {
      told(`${name} is gone from the disk, or cannot be read; the text here is not saved.`);
      return;
    }
    const answer = await choose({
      title: "The file has changed on disk",
      text: `Somebody has written to \`${name}\` since it was opened here. Nothing is lost whichever you take: Undo brings the other text back.`,
      answers: [["theirs", "Show what is on disk"], ["mine", "Write what is here"], ["", "Not now"]],
    });
    if (answer === "theirs") take(now);
    if (answer !== "mine") return;
    const mine = entry(name);
    if (name === current) {
      editor.replace(now.text);
      editor.replace(text);
    }
    Object.assign(mine, { version: now.version, saved: now.text });
    await save();
  }

  /** What has changed on disk: taken over where nothing was typed, else told. */
  async function compare(files) {
    const behind = files.filter((x) => open.has(x.name) && entry(x.name).version !== x.version);
    for (const { name } of behind) {
      if (isChanged(name)) told(`${name} has changed on disk; saving will ask what to do.`);
      else take(await ask("read", { name }));
    }
  }

  addEventListener("beforeunload", (event) => {
    if ([...open.keys()].some(isChanged)) event.preventDefault();
  });

  return {
    show, save, compare, isChanged,
    get current() {
      return current;
    },
    /** What was typed and is not on disk. */
    typed: () => Object.fromEntries([...open.keys()].filter(isChanged).map((name) => [name, textOf(name)])),
  };
}
