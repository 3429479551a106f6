// Makes the playground work offline: its files are kept in the browser, all of one version together.
const VERSION = "{{ version }}";
const FILES = {{ files }};
const NAME = `fsm-playground ${VERSION}`;

addEventListener("install", (event) => {
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(FILES.map((x) => new Request(x, { cache: "no-cache" })))));
});

addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) {
      if (name.startsWith("fsm-playground ") && name !== NAME) await caches.delete(name);
    }
    await clients.claim();
  })());
});

addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method !== "GET" || !url.startsWith(registration.scope)) return;
  event.respondWith((async () => {
    const cache = await caches.open(NAME);
    return (await cache.match(url.replace(/[?#].*$/, ""))) ?? fetch(event.request);
  })());
});
