// What has to be done before there is any Rust: ask for the adapter's name, which wgpu does not pass on, and load the page.
import init, { start } from "./gravitile.js";

async function adapterName() {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) return "";
  const { vendor, architecture, description } = adapter.info ?? {};
  return [vendor, architecture, description].filter(Boolean).join(" ") || "an adapter without a name";
}

const note = document.getElementById("note");
try {
  const [name] = await Promise.all([
    adapterName().catch(() => ""),
    init({ module_or_path: new URL("gravitile_bg.wasm", import.meta.url) }),
  ]);
  start(name);
} catch (problem) {
  note.textContent = `The page could not be loaded: ${problem.message ?? problem}`;
  note.hidden = false;
}
