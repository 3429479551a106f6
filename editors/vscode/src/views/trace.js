// The page of a counterexample: the report's stepper.
import { mountStepper } from "fsmdsl-stepper";

const editor = acquireVsCodeApi();
const main = document.getElementById("main");

addEventListener("message", ({ data }) => {
  const title = document.createElement("h1");
  const place = document.createElement("div");
  title.textContent = data.title;
  main.replaceChildren(title, place);
  mountStepper(place, data.stepping, { diagrams: data.diagrams, links: false });
});

editor.postMessage("ready");
