// Lets a page that was loaded once start without a network: the network's answer, else that of the last visit.

const CACHE = "gravitile";
const FILES = ["./", "page.css", "page.js", "film.js", "worker.js", "icon.svg", "gravitile.js", "gravitile_bg.wasm"];

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)));
});
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method === "GET" && request.url.startsWith(self.registration.scope)) event.respondWith(answer(event));
});

async function answer(event) {
  const { request } = event;
  const cache = await caches.open(CACHE);
  let fresh;
  try {
    fresh = await fetch(request);
  } catch (problem) {
    return (await cache.match(request, { ignoreSearch: true })) ?? Promise.reject(problem);
  }
  // The page reads it meanwhile, and has it even if there is no room to store it.
  if (fresh.status === 200) event.waitUntil(cache.put(request, fresh.clone()).catch(console.warn));
  return fresh;
}
