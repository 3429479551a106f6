// The page of the diagram: the picture it is sent, with what the cursor is on lit up.
import { zoomable } from "./zoom.js";

const editor = acquireVsCodeApi();
const main = document.getElementById("main");
const title = document.createElement("h1");
const message = document.createElement("p");
const picture = zoomable(editor.getState()?.scale ?? "fit", (scale) => editor.setState({ scale }));
message.setAttribute("role", "status");
main.append(title, picture.element, message);

addEventListener("message", ({ data }) => {
  title.textContent = data.title;
  message.textContent = data.message ?? "";
  if (data.svg) picture.show(drawn(data.svg));
  picture.element.hidden = !picture.frame.hasChildNodes();
  picture.frame.classList.toggle("stale", Boolean(data.stale));
  for (const element of picture.frame.querySelectorAll(".lit")) element.classList.remove("lit");
  if (data.state) document.getElementById(`state-${data.state}`)?.classList.add("lit");
  for (const n of data.transitions ?? [])
    for (const edge of picture.frame.querySelectorAll(`#transition-${n}, .transition-${n}`)) edge.classList.add("lit");
});

/** The picture as elements; what could run in it is left out. */
function drawn(svg) {
  const root = document.adoptNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement);
  if (root.localName !== "svg") return document.createTextNode("the picture could not be read");
  for (const element of root.querySelectorAll("script, foreignObject, iframe")) element.remove();
  for (const element of [root, ...root.querySelectorAll("*")])
    for (const { name, value } of [...element.attributes])
      if (/^on/i.test(name) || (/href$/i.test(name) && !value.startsWith("#"))) element.removeAttribute(name);
  return root;
}

editor.postMessage("ready");
