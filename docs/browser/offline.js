// Keeps the page and the program in the browser, so that a second visit needs no network. It answers from
// what it keeps and asks this site for the rest. docs/site.py writes the version: a hash of all files.

const VERSION = "unversioned";
const FIRST = [
  "./", "page.css", "page.js", "calculator.js", "files.js", "tool.js", "answer_page.js", "worker.js", "cuda_parser.js",
  "runtime/pyodide.mjs", "runtime/pyodide.asm.mjs", "runtime/pyodide.asm.wasm", "runtime/python_stdlib.zip",
  "runtime/pyodide-lock.json", "runtime/first.zip", "runtime/rest.zip", "runtime/snapshot.bin",
];
const NAME = `gpuadvise-${VERSION}`;

addEventListener("install", (event) => event.waitUntil(keepFirst()));
addEventListener("activate", (event) => event.waitUntil(dropOthers()));
addEventListener("fetch", (event) => {
  if (event.request.method === "GET" && event.request.url.startsWith(registration.scope)) {
    event.respondWith(answer(event.request));
  }
});

async function keepFirst() {
  const cache = await caches.open(NAME);
  await cache.addAll(FIRST.map((path) => new Request(path, { cache: "no-cache" })));
  await skipWaiting();
}

async function dropOthers() {
  for (const name of await caches.keys()) {
    if (name.startsWith("gpuadvise-") && name !== NAME) await caches.delete(name);
  }
}

async function answer(request) {
  const cache = await caches.open(NAME);
  const kept = await cache.match(request, { ignoreSearch: true });
  if (kept) return kept;
  const fresh = await fetch(request);
  if (fresh.ok) await cache.put(request, fresh.clone());
  return fresh;
}
