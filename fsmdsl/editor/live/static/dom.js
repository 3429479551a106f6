// Elements made from data: text becomes text nodes, never markup.

/** `h("button", { type: "button", onclick: f }, "Save")`; children that are null are left out. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((x) => x !== null && x !== undefined));
  return element;
}

/** Text, and what stands between backticks as code. */
export function coded(text) {
  const pieces = text.split("`");
  if (pieces.length % 2 === 0) return [text];
  return pieces.map((x, n) => (n % 2 ? h("code", {}, x) : x)).filter((x) => x !== "");
}

export const counted = (n, what, plural = `${what}s`) => `${n.toLocaleString("en")} ${n === 1 ? what : plural}`;

const ELEMENTS = new Set(
  "svg g path polygon polyline ellipse circle rect line text tspan title desc defs marker".split(" "),
);
const ATTRIBUTES = new Set(
  ("class d points x y x1 x2 y1 y2 dx dy cx cy r rx ry width height viewBox transform fill fill-opacity stroke " +
    "stroke-width stroke-dasharray stroke-opacity stroke-linecap opacity text-anchor font-family font-size font-weight " +
    "font-style role aria-label marker-end marker-start markerWidth markerHeight refX refY orient dominant-baseline " +
    "textLength lengthAdjust").split(" "),
);

/**
 * A picture that the server has drawn, as an element: only shapes and text, only attributes that say how they look.
 * Ids become `data-id`, so that they cannot be taken for those of the page.
 */
export function picture(svg) {
  const parsed = new DOMParser().parseFromString(svg, "image/svg+xml");
  if (parsed.querySelector("parsererror") || parsed.documentElement.localName !== "svg") return h("p", {}, "This picture cannot be shown.");
  return cleaned(parsed.documentElement);
}

function cleaned(node) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", node.localName);
  for (const { name, value } of node.attributes) {
    if (ATTRIBUTES.has(name)) made.setAttribute(name, value);
    else if (name === "id") made.setAttribute("data-id", value);
  }
  for (const child of node.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) made.append(child.data);
    else if (child.nodeType === Node.ELEMENT_NODE && ELEMENTS.has(child.localName)) made.append(cleaned(child));
  }
  return made;
}

/** As `fsmdsl.draw.text.safe`: a name as it stands in an id of a picture. */
export const safe = (name) => name.replace(/[^A-Za-z0-9_]/gu, (x) => `-${x.codePointAt(0).toString(16)}-`);
