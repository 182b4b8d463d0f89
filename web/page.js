// Done before any Rust runs: ask for the adapter's name, which wgpu does not pass on, and load the page.
import init, { start } from "./gravitile.js";

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

const note = document.getElementById("note");
try {
  const [name] = await Promise.all([
    adapterName().catch(() => ""),
    init({ module_or_path: new URL("gravitile_bg.wasm", import.meta.url) }),
    mendPixels(),
  ]);
  performance.mark("begun");
  await start(name);
} catch (problem) {
  note.textContent = `The page could not be loaded: ${problem.message ?? problem}`;
  note.hidden = false;
}
