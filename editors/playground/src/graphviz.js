// Graphviz in a worker of its own: a layout can take seconds, and the editor does not wait for it.
import { instance } from "./viz.js";

const ready = instance();

/** `{ id, dot }` → `{ id, svg }` or `{ id, error }`. */
onmessage = async ({ data: { id, dot } }) => {
  try {
    const { status, output, errors } = (await ready).render(dot, { format: "svg" });
    const why = errors.filter((x) => x.level === "error").map((x) => x.message).join("; ");
    postMessage(status === "success" ? { id, svg: output } : { id, error: why || "no reason given" });
  } catch (error) {
    postMessage({ id, error: error.message });
  }
};
