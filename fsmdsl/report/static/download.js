/**
 * Buttons that save a drawing as it is on the page: `downloads(svg, name) → [button, …]`, for SVG and for PNG.
 *
 * The copy is whole, whatever part is in view, and takes its colours along: a page's style sheet is not in the file.
 */
export function downloads(svg, name) {
  return [
    button("SVG", () => save(encoded(standing(svg)), `${name}.svg`)),
    button("PNG", async () => save(await raster(standing(svg)), `${name}.png`)),
  ];
}

/** Pixels of a PNG for a unit of the drawing. */
const DENSITY = 2;
const MOST = 16_000; // pixels of a side that browsers draw

const COPIED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity", "font-weight"];

function button(kind, does) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = kind;
  made.className = "wide";
  made.title = `Save as ${kind}`;
  made.setAttribute("aria-label", made.title);
  made.addEventListener("click", does);
  return made;
}

/** A copy with the colours that the page gives it, on the page's ground, and as large as it was drawn. */
function standing(svg) {
  const copy = svg.cloneNode(true);
  const [from, to] = [svg, copy].map((x) => [...x.querySelectorAll("path, polygon, polyline, ellipse, circle, rect, line, text, tspan")]);
  from.forEach((x, n) => {
    const look = getComputedStyle(x);
    for (const property of COPIED) to[n].style.setProperty(property, look.getPropertyValue(property));
  });
  const drawn = svg.dataset.drawn ?? svg.getAttribute("viewBox");
  const [x, y, width, height] = drawn.split(/[\s,]+/);
  copy.setAttribute("viewBox", drawn);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.removeAttribute("style");
  copy.querySelector("style")?.remove();
  const ground = document.createElementNS(svg.namespaceURI, "rect");
  for (const [key, value] of Object.entries({ x, y, width, height, fill: getComputedStyle(document.body).backgroundColor })) ground.setAttribute(key, value);
  copy.prepend(ground);
  return copy;
}

/** The drawing as an address that may be loaded where nothing is fetched. */
const encoded = (copy) => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;

async function raster(copy) {
  const [width, height] = ["width", "height"].map((x) => Number(copy.getAttribute(x)));
  const scale = Math.min(DENSITY, MOST / Math.max(width, height));
  const image = new Image(width * scale, height * scale);
  image.src = encoded(copy);
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.ceil(width * scale), Math.ceil(height * scale)];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/png");
}

function save(address, name) {
  const link = document.createElement("a");
  [link.href, link.download] = [address, name];
  link.click();
}
