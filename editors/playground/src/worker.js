// Python in a worker: answers the page's questions, or explores. What it is asked for says which.
import { startPython } from "./python.js";

const ready = begin();

async function begin() {
  const python = await startPython(new URLSearchParams(location.search).has("plain"));
  const module = python.pyimport("fsmdsl.live.playground");
  return { module, playground: module.Playground() };
}

/** `{ id, name, question }` → `{ id, status, content }`; `{ id, job }` → `{ id, event, content }` for each event. */
onmessage = async ({ data: { id, name, question, job } }) => {
  try {
    const { module, playground } = await ready;
    if (job !== undefined) {
      module.explore(JSON.stringify(job), (event, content) => postMessage({ id, event, content: JSON.parse(content) }));
      postMessage({ id, event: null });
    } else {
      const [status, content] = JSON.parse(playground.answer(name, JSON.stringify(question)));
      postMessage({ id, status, content });
    }
  } catch (error) {
    postMessage({ id, status: 500, content: { error: `Python does not work in this browser: ${error.message}` } });
  }
};

ready.then(() => postMessage({ id: 0 }), (error) => postMessage({ id: 0, error: String(error?.message ?? error) }));
