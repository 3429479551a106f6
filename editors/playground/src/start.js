// The playground: the live page, with workers in the place of its server.
import { use } from "../static/api.js";
import { choose, shown } from "../static/dialog.js";
import { h } from "../static/dom.js";
import { flush } from "../static/place.js";
import { closing, save } from "../static/tools.js";
import { firstProject, keep } from "./project.js";
import { makeWorkers } from "./workers.js";

const embedded = new URLSearchParams(location.search).has("embed");
const plain = new URLSearchParams(location.search).has("plain");
const examples = await (await fetch(new URL("./examples.json", import.meta.url))).json();
const { files, wrong } = await firstProject(examples);
const { way, ready, ask } = makeWorkers({ files, changed, plain });

let page = null; // once it is there

async function changed() {
  await keep((await ask("project", {})).files, embedded);
}

/** What is typed is in the address. */
async function keepTyped() {
  await page?.saveAll();
  await changed();
  flush();
}

/** Another project: the page begins anew; Back leads to the one before. */
async function open(name) {
  await keepTyped(); // Back leads to it
  history.pushState(null, "", `${location.pathname}${location.search}#example=${encodeURIComponent(name)}`);
  location.reload();
}

async function share() {
  await keepTyped();
  const field = (label, value) => h("label", { class: "field" }, label, h("input", { value, readonly: true, onclick: (x) => x.target.select() }));
  const address = location.href.replace("?embed", "");
  const frame = `<iframe src="${address.replace("#", "?embed#").replaceAll("&", "&amp;")}" width="100%" height="600" title="fsm playground"></iframe>`;
  const copied = h("span", { class: "quiet", role: "status" });
  const copy = h("button", { type: "button", onclick: () => navigator.clipboard.writeText(address).then(() => (copied.textContent = "copied"), () => (copied.textContent = "select it and copy it")) }, "Copy the link");
  await shown("Share", h("p", {}, "The link holds the whole project: nothing is kept on a server."), field("Link", address), field("To embed in a page", frame), h("div", { class: "bar" }, copy, copied), closing());
}

async function download() {
  await page?.saveAll();
  const { zip } = await ask("zip", {});
  save(new Blob([Uint8Array.from(atob(zip), (x) => x.charCodeAt(0))], { type: "application/zip" }), "fsm-project.zip");
}

async function example() {
  const name = await choose({ title: "Examples", text: "An example takes the place of the project; Back brings it back.", answers: [...examples.map((x) => [x.name, x.title]), ["", "Cancel"]] });
  if (name) await open(name);
}

function header() {
  const button = (id, label, action, title = null) => h("button", { type: "button", id, title, onclick: action }, label);
  const others = embedded
    ? [h("a", { href: "#", id: "whole", target: "_blank", onclick: (x) => (flush(), (x.currentTarget.href = location.href.replace("?embed", ""))) }, "Open in the playground")]
    : [button("examples", "Examples", example), button("share", "Share", share), button("download", "Download", download, "The project as a zip file, for fsm on your machine")];
  document.getElementById("keys").before(h("span", { id: "engine", class: "quiet", role: "status" }, "Python is starting …"), ...others);
  document.getElementById("save").hidden = true;
  document.documentElement.classList.toggle("embedded", embedded);
  document.documentElement.classList.toggle("single", Object.keys(files).length === 1);
}

header();
use(way);
addEventListener("popstate", () => location.reload());
page = await import("../static/main.js");
const engine = document.getElementById("engine");
try {
  await ready;
  engine.textContent = wrong;
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
  if ("serviceWorker" in navigator && isSecureContext && !embedded) {
    await navigator.serviceWorker.register(new URL("../service.js", import.meta.url));
    await navigator.serviceWorker.ready;
    document.documentElement.dataset.offline = "ready";
  }
} catch (error) {
  engine.textContent = error.message;
  engine.classList.add("failed");
}
