// The little Markdown that explanations are written in, as elements. Nothing in it becomes markup of the page.
import { h } from "./dom.js";

/** Blocks of code, lists and paragraphs. */
export function rendered(text) {
  const found = [];
  const lines = text.split("\n");
  let paragraph = [];
  const end = () => {
    if (paragraph.length) found.push(h("p", {}, ...paragraph.flatMap((x, n) => (n ? [h("br"), ...inline(x)] : inline(x)))));
    paragraph = [];
  };
  for (let n = 0; n < lines.length; n += 1) {
    const fence = lines[n].match(/^(`{3,})/)?.[1];
    if (fence) {
      end();
      const close = lines.indexOf(fence, n + 1);
      const last = close < 0 ? lines.length : close;
      found.push(h("pre", {}, lines.slice(n + 1, last).join("\n")));
      n = last;
    } else if (lines[n].startsWith("- ")) {
      end();
      if (found.at(-1)?.localName !== "ul") found.push(h("ul"));
      found.at(-1).append(h("li", {}, ...inline(lines[n].slice(2))));
    } else if (lines[n].trim()) paragraph.push(lines[n].trimEnd());
    else end();
  }
  end();
  return found;
}

function inline(text) {
  const pieces = text.matchAll(/\\(.)|`([^`]*)`|\*\*([^*]+)\*\*|\*([^*]+)\*|([^\\`*]+|.)/gsu);
  return [...pieces].map(([, escaped, code, strong, weak, plain]) => {
    if (code !== undefined) return h("code", {}, code);
    if (strong !== undefined) return h("b", {}, strong);
    return weak !== undefined ? h("i", {}, weak) : (escaped ?? plain);
  });
}
