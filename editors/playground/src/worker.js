// Python in a worker: answers the page's questions, or explores. What it is asked for says which.
import { startPython } from "./python.js";

const IDLE = 1000; // milliseconds

const ready = begin();

async function begin() {
  const { python, complete } = await startPython(new URLSearchParams(location.search).has("plain"));
  const module = python.pyimport("fsmdsl.editor.live.playground");
  return { module, playground: module.Playground(), complete };
}

let idle = null;

/** The rest of the toolkit is unpacked when nothing has been asked for a while. */
function later(complete) {
  clearTimeout(idle);
  idle = setTimeout(complete, IDLE);
}

/** Where something fails, it may lack what has not been unpacked. */
function answered({ playground, complete }, name, question) {
  const answer = () => JSON.parse(playground.answer(name, JSON.stringify(question)));
  const first = answer();
  if (first[0] !== 500) return first;
  complete();
  return answer();
}

/** `{ id, name, question }` → `{ id, status, content }`; `{ id, job }` → `{ id, event, content }` for each event. */
onmessage = async ({ data: { id, name, question, job } }) => {
  try {
    const started = await ready;
    const { module, complete } = started;
    if (job !== undefined) {
      complete();
      module.explore(JSON.stringify(job), (event, content) => postMessage({ id, event, content: JSON.parse(content) }));
      postMessage({ id, event: null });
    } else {
      const [status, content] = answered(started, name, question);
      postMessage({ id, status, content });
    }
    later(complete);
  } catch (error) {
    postMessage({ id, status: 500, content: { error: `Python does not work in this browser: ${error.message}` } });
  }
};

ready.then(({ complete }) => {
  postMessage({ id: 0 });
  later(complete);
}, (error) => postMessage({ id: 0, error: String(error?.message ?? error) }));
