// The live figures: WebAssembly and the device in a worker, so that neither a compiler nor a measurement holds the page. A worker
// that does not answer is ended by the page, which starts another.

import start, * as figures from "./lesson-figures.js";

async function adapterName() {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) return "";
  const { vendor, architecture, description } = adapter.info ?? {};
  return [vendor, architecture, description].filter(Boolean).join(" ") || "an adapter without a name";
}

const started = start({ module_or_path: fetch(new URL("lesson-figures_bg.wasm", import.meta.url)) });
// Reported by each call.
started.catch(() => {});
// What measures runs alone.
let turn = Promise.resolve();
const alone = new Set(["open", "measure", "judge", "attempt", "score", "tree_figure"]);

async function answer({ id, call, args }) {
  try {
    await started;
    if (call === "open") args = [await adapterName().catch(() => "")];
    const partly = (part) => postMessage({ id, part: JSON.parse(part) });
    const done = await figures[call](...args, partly);
    postMessage({ id, done: done === undefined ? null : JSON.parse(done) });
  } catch (problem) {
    postMessage({ id, problem: problem?.message ?? String(problem) });
  }
}

onmessage = ({ data }) => {
  if (alone.has(data.call)) turn = turn.then(() => answer(data));
  else answer(data);
};
