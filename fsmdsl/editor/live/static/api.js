// Questions, and the ways in which they find an answer. The page itself asks the server with the token that `fsm serve`
// printed: it was opened with it. The playground has another way, see `use`.

const KEY = "fsm-token";

function token() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(KEY, given);
    const others = new URLSearchParams(location.hash.slice(1));
    others.delete("token");
    history.replaceState(null, "", others.size ? `#${others}` : location.pathname);
  }
  return sessionStorage.getItem(KEY) ?? "";
}

const headers = { "content-type": "application/json", "x-fsm-token": token() };

/** What went wrong; `now` is the file on disk, where that is the reason. */
export class Refused extends Error {
  constructor(message, status, now = null) {
    super(message);
    this.status = status;
    this.now = now;
  }
}

async function post(name, question, signal) {
  let answer;
  try {
    answer = await fetch(`api/${name}`, { method: "POST", headers, body: JSON.stringify(question), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("the server does not answer; is `fsm serve` still running?", 0);
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  throw new Refused(told.error ?? `the server answers ${answer.status}`, answer.status, told.now);
}

/** Over HTTP. */
const server = {
  autosave: false,
  ask: async (name, question, signal) => (await post(name, question, signal)).json(),
  listen: heard,
};

let way = server;

/** From now on, questions go another way: `{ autosave, ask, listen }`, as those here; `autosave`: nobody has to save. */
export function use(other) {
  way = other;
}

/** One question, one answer. */
export const ask = (name, question = {}, signal = undefined) => way.ask(name, question, signal);

/** One question, answered by events: `told(event, data)` for each. Aborting the signal ends the work for it. */
export const listen = (name, question, signal, told) => way.listen(name, question, signal, told);

export const autosave = () => way.autosave;

async function heard(name, question, signal, told) {
  const answer = await post(name, question, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  const pieces = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    pieces.push(value);
    if (!value.includes("\n\n") && !(value.startsWith("\n") && pieces.length > 1)) continue;
    const events = pieces.join("").split("\n\n");
    pieces.splice(0, pieces.length, events.pop());
    for (const event of events) {
      const [first, ...data] = event.split("\n");
      told(first.replace("event: ", ""), JSON.parse(data.map((x) => x.replace(/^data: /, "")).join("\n")));
    }
  }
}

/**
 * Keeps one kind of question in step with typing: asks after a pause, and again when something has changed meanwhile; an
 * answer that has been overtaken is not told, from the moment on when the next question is due.
 */
export function latest(pause, question, told, failed) {
  let timer = null;
  let running = null;
  function stop() {
    clearTimeout(timer);
    running?.abort();
    running = null;
  }
  async function go() {
    const mine = (running = new AbortController());
    try {
      const answer = await question(mine.signal);
      if (running === mine && answer !== undefined) told(answer);
    } catch (error) {
      if (error.name !== "AbortError" && running === mine) failed(error);
    }
  }
  return {
    soon() {
      stop();
      timer = setTimeout(go, pause);
    },
    now() {
      stop();
      return go();
    },
    /** No answer is wanted any more. */
    stop,
  };
}
