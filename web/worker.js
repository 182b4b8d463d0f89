// Makes bodies in the background, with the same program: the page's thread stays free. A thrown string is a refusal, anything
// else a crash.
import init, { make } from "./gravitile.js";

let ready;
onmessage = async ({ data }) => {
  const { program, number, request, softening, names, files } = data;
  if (program) {
    ready = init({ module_or_path: program });
    return;
  }
  try {
    await ready;
    const bytes = make(request, softening, names, files);
    postMessage({ number, bytes }, [bytes.buffer]);
  } catch (problem) {
    if (typeof problem !== "string") console.error("in the worker:", problem);
    postMessage(typeof problem === "string" ? { number, refused: problem } : { number });
  }
};
