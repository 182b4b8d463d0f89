// What has to be done before there is any Rust: ask for the adapter's name, which wgpu does not pass on, and load the page.
import init, { start } from "./gravitile.js";

async function adapterName() {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) return "";
  const { vendor, architecture, description } = adapter.info ?? {};
  return [vendor, architecture, description].filter(Boolean).join(" ") || "an adapter without a name";
}

// Where a screen is only pretended (a browser's tools for developers), Chromium tells the pixels of an element as if its scale
// were 1. winit then goes by the scale, if nobody tells pixels.
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
