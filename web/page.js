// Done before any Rust runs: download the program, ask for the adapter's name, which wgpu does not pass on, and start.

const [begin, progress, cancel, note] = ["begin", "progress", "cancel", "note"].map((id) => document.getElementById(id));

async function adapterName() {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) return "";
  const { vendor, architecture, description } = adapter.info ?? {};
  return [vendor, architecture, description].filter(Boolean).join(" ") || "an adapter without a name";
}

// With an emulated screen (developer tools), Chromium reports an element's device pixels as if the scale were 1. Without such
// a report winit goes by the scale.
async function mendPixels() {
  const told = await new Promise((done) => {
    const observer = new ResizeObserver(([entry]) => {
      observer.disconnect();
      done(entry);
    });
    observer.observe(document.documentElement);
  });
  const box = told.devicePixelContentBoxSize?.[0];
  if (box && Math.abs(box.inlineSize - told.contentRect.width * devicePixelRatio) > devicePixelRatio + 1) {
    delete ResizeObserverEntry.prototype.devicePixelContentBoxSize;
  }
}

// Counts the bytes of a slow download, and lets it be cancelled. One that is complete already is left alone: browsers keep
// what they compiled only of a response that nobody else reads.
let cancelled = false;
async function download(url) {
  const ending = new AbortController();
  const answer = await fetch(url, { signal: ending.signal });
  if (!answer.ok) throw new Error(`${url.pathname}: ${answer.status} ${answer.statusText}`);
  if (performance.getEntriesByName(url.href).some((entry) => entry.responseEnd > 0)) return answer;
  const bytes = Number(document.querySelector("[data-bytes]")?.dataset.bytes);
  const megabytes = (count) => (count / 1e6).toFixed(1);
  const reader = answer.clone().body.getReader();
  cancel.onclick = () => {
    cancelled = true;
    ending.abort();
  };
  cancel.hidden = false;
  const counting = async () => {
    for (let count = 0; ; ) {
      const { done, value } = await reader.read();
      if (done) break;
      count += value.length;
      progress.textContent = `Loading ${megabytes(count)}${bytes ? ` of ${megabytes(bytes)}` : ""} MB …`;
    }
    progress.textContent = "Starting …";
  };
  const done = () => ((cancel.hidden = true), (cancel.onclick = null));
  counting().then(done, done);
  return answer;
}

try {
  const answer = download(new URL("gravitile_bg.wasm", import.meta.url));
  const [{ start }, name] = await Promise.all([
    import("./gravitile.js").then(async (program) => {
      await program.default({ module_or_path: answer });
      return program;
    }),
    adapterName().catch(() => ""),
    mendPixels(),
  ]);
  performance.mark("begun");
  await start(name);
  // Later: it reads all files again, from the browser's cache.
  setTimeout(() => navigator.serviceWorker?.register("sw.js").catch(console.warn), 10_000);
} catch (problem) {
  begin.hidden = true;
  const why = cancelled ? "the download was cancelled; reload the page to start again" : (problem.message ?? problem);
  note.textContent = `The page could not be loaded: ${why}`;
  note.hidden = false;
}
