/* The theme makes wide tables scroll, and adds buttons to code: here they get what a keyboard and a screen reader need. */
const complete = () => {
  for (const wide of document.querySelectorAll(".md-typeset__scrollwrap")) wide.tabIndex = 0;
  document.querySelectorAll("nav.md-code__nav").forEach((nav, n) => {
    nav.setAttribute("aria-label", `Code block ${n + 1}`);
  });
  for (const nav of document.querySelectorAll("nav.md-nav[aria-labelledby]")) {
    const title = nav.querySelector(":scope > .md-nav__title");
    if (!title) continue;
    nav.removeAttribute("aria-labelledby");
    nav.setAttribute("aria-label", title.textContent.trim());
  }
};
new MutationObserver(complete).observe(document.body, { childList: true, subtree: true });
complete();
