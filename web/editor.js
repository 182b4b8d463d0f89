// The editor of kernels: WGSL in colours, compiled as one types, judged by gravitile's own check.

import { call, kept, make, onDevice, restart } from "./lesson.js";

const KEYWORDS = new Set(("alias break const const_assert continue continuing default diagnostic discard else enable false fn for if let loop " +
  "override requires return struct switch true var while").split(" "));
const TYPES = new Set(("array atomic bool f16 f32 i32 ptr u32 vec2 vec2f vec2u vec3 vec3f vec3u vec4 vec4f vec4u storage uniform workgroup " +
  "private function read read_write").split(" "));
const TOKEN = /(\/\/[^\n]*)|(@\w+)|(\b\d[\w.]*)|([A-Za-z_]\w*)/g;
const escaped = (text) => text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);

export function coloured(text) {
  let [html, at] = ["", 0];
  for (const match of text.matchAll(TOKEN)) {
    const [word, comment, attribute, number, name] = match;
    html += escaped(text.slice(at, match.index));
    at = match.index + word.length;
    const tag = comment ? "i" : attribute ? "em" : number ? "s" : KEYWORDS.has(name) ? "b" : TYPES.has(name) ? "u" : "";
    html += tag ? `<${tag}>${escaped(word)}</${tag}>` : escaped(word);
  }
  return html + escaped(text.slice(at));
}

// For each kernel: its name, what to do, a hint, and the answer.
const EXERCISES = {
  plain: ["The chapter's kernel", "A kernel that is right. Make it faster: unroll the inner loop, or give each thread two sinks.", "", ""],
  "mend-barrier": ["Mend: barrier", "Its sums are wrong on some devices and right on others.",
    "Who may still read the tile when it is filled again?",
    "The barrier after the inner loop is missing: a fast thread fills the tile with the next sources while a slow one still reads it. Put workgroupBarrier(); after total += sum;"],
  "mend-tail": ["Mend: tail", "Its sums are wrong whenever N is not a multiple of P.",
    "How many sources has the last tile? And may a thread leave before a barrier?",
    "The last tile is not full, and the threads left over fetch from beyond the end. Fetch only where j < end, and use a body without mass elsewhere. No thread may return: all must reach the barriers."],
  "mend-banks": ["Mend: banks", "Its sums are right, and it is slow on many devices.",
    "Workgroup memory is divided into banks, and a bank answers one address at a time, or one for all. Which places of the tile do neighbouring threads read at the same time?",
    "Threads read places eight apart, which lie in the same banks, one after the other. With tile[k] all read the same place, and one read serves them all."],
  "mend-order": ["Mend: order", "Its sums are right, and it is slow on many devices.",
    "Device memory is read in lines of some 128 bytes. Where do neighbouring threads fetch from at the same time?",
    "Neighbouring threads fetch from addresses far apart, so that each access takes many lines. Let thread t fetch source t: local.x in place of the two divisions."],
};
const SHORTEST = 300;
const LONGEST = 1 << 20;

const toLink = async (text) => {
  const packed = await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer();
  return btoa(String.fromCharCode(...new Uint8Array(packed))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};
async function fromLink(text) {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const [parts, decoder] = [[], new TextDecoder()];
  for (let length = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return parts.join("") + decoder.decode();
    length += value.length;
    if (length > LONGEST) throw new Error("the kernel in the link is too long");
    parts.push(decoder.decode(value, { stream: true }));
  }
}

export function editor(place) {
  const original = (name) => document.getElementById(`kernel-${name}`).content.textContent;
  const choice = make("select", { id: "kernel-choice" }, ...Object.entries(EXERCISES).map(([name, [title]]) => make("option", { value: name }, title)));
  const about = make("p", {});
  const hint = make("details", {}, make("summary", {}, "A hint"), make("p", {}));
  // After the hint.
  const answer = make("details", { hidden: true }, make("summary", {}, "The answer"), make("p", {}));
  hint.ontoggle = () => (answer.hidden &&= !hint.open);
  const colours = make("pre", { ariaHidden: "true" });
  const area = make("textarea", { spellcheck: false, ariaLabel: "The kernel in WGSL", id: "kernel-text" });
  area.setAttribute("wrap", "off");
  area.setAttribute("autocapitalize", "off");
  const errors = make("ol", { className: "errors" });
  const state = make("p", { role: "status", className: "note", id: "kernel-state" });
  const check = make("button", { type: "button", id: "kernel-check" }, "Check");
  const back = make("button", { type: "button" }, "Start again");
  const share = make("button", { type: "button" }, "Copy a link");
  const verdict = make("div", { id: "kernel-verdict", role: "status" });
  place.append(
    make("div", { className: "row" }, make("label", { htmlFor: "kernel-choice" }, "Kernel:"), choice), about, hint, answer,
    make("div", { className: "code" }, colours, area), errors, state, make("div", { className: "row" }, check, back, share), verdict);

  let [name, timer, generation, edited, attempting] = ["plain", 0, 0, false, false];
  const paint = () => {
    // A megabyte of text stays plain.
    if (area.value.length < 60_000) colours.innerHTML = `${coloured(area.value)}\n`;
    else colours.textContent = `${area.value}\n`;
    colours.scrollTop = area.scrollTop;
    colours.scrollLeft = area.scrollLeft;
  };
  area.onscroll = () => ([colours.scrollTop, colours.scrollLeft] = [area.scrollTop, area.scrollLeft]);

  function go(line, column) {
    const lines = area.value.split("\n");
    const at = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
    area.focus();
    area.setSelectionRange(at, at);
    area.scrollTop = Math.max(0, (line - 6) * parseFloat(getComputedStyle(area).lineHeight));
  }
  function showErrors(list) {
    errors.replaceChildren(...list.map(({ line, column, message }) => make("li", {}, make("button",
      { type: "button", onclick: () => go(line, column) }, line ? `line ${line}, column ${column}: ${message}` : message))));
  }
  async function compile() {
    const mine = ++generation;
    state.textContent = "Compiling …";
    try {
      const { errors: found, words } = await call("diagnose", [area.value], { patience: 20_000 });
      if (mine !== generation) return;
      showErrors(found);
      state.textContent = found.length ? `${found.length === 1 ? "An error" : `${found.length} errors`}.` : words;
      state.className = found.length ? "bad" : "note";
      if (!found.length && edited) attempt();
    } catch (problem) {
      if (mine === generation) state.textContent = problem.message;
    }
  }
  // The latest text alone: a slow device does not fall behind somebody who types.
  async function attempt() {
    if (attempting) return;
    attempting = true;
    const mine = generation;
    try {
      const { words } = await onDevice("attempt", [area.value], { patience: 180_000 });
      if (mine === generation) state.textContent += ` ${words}`;
      performance.mark("kernel-first-result");
    } catch { /* Without a device there is no result; Check says why. */ }
    attempting = false;
    if (mine !== generation && !errors.children.length) attempt();
  }
  function changed() {
    edited = true;
    performance.mark("kernel-edit");
    kept.set(`kernel/${name}`, area.value);
    paint();
    clearTimeout(timer);
    timer = setTimeout(compile, SHORTEST);
  }
  area.oninput = changed;

  function open(which, text) {
    name = which;
    edited = false;
    choice.value = which;
    const [, words, help, solution] = EXERCISES[which];
    about.textContent = words;
    hint.hidden = !help;
    hint.open = false;
    hint.lastChild.textContent = help;
    answer.hidden = true;
    answer.open = false;
    answer.lastChild.textContent = solution;
    area.value = text ?? kept.get(`kernel/${which}`) ?? original(which);
    area.scrollTop = 0;
    verdict.replaceChildren();
    if (kept.get(`mended/${which}`)) verdict.append(make("p", { className: "good" }, "You have mended this one."));
    paint();
    clearTimeout(timer);
    timer = setTimeout(compile, 0);
  }
  choice.onchange = () => open(choice.value);
  back.onclick = () => {
    area.value = original(name);
    changed();
    verdict.replaceChildren();
  };
  share.onclick = async () => {
    const link = `${location.href.split("#")[0]}#kernel=${name}.${await toLink(area.value)}`;
    try {
      await navigator.clipboard.writeText(link);
      state.textContent = "The link is copied: it holds the whole text.";
    } catch {
      history.replaceState(null, "", link);
      state.textContent = "The page's address now holds the kernel: copy it from there.";
    }
  };
  check.onclick = async () => {
    check.disabled = true;
    verdict.replaceChildren(make("p", {}, "Checking …"));
    try {
      const answer = await onDevice("judge", [area.value], { patience: 180_000 });
      const good = answer.passed;
      const items = answer.findings.map(({ ok, words }) => make("li", { className: ok ? "" : "bad" }, words));
      verdict.replaceChildren(
        make("p", { className: good ? "good" : "bad" }, good ? "Right: every check has passed." : "Not yet."),
        make("ul", { className: "findings" }, ...items));
      if (answer.rate) verdict.append(make("p", {}, answer.rate));
      if (good && name !== "plain") kept.set(`mended/${name}`, "yes");
    } catch (problem) {
      verdict.replaceChildren(make("p", { className: "bad" }, `The check has ended: ${problem.message}. Your text is kept.`));
    }
    check.disabled = false;
  };

  const fromAddress = () => {
    const [, which, packed] = location.hash.match(/^#kernel=([\w-]+)\.([\w-]+)$/) ?? [];
    if (!packed || !(which in EXERCISES)) return false;
    fromLink(packed).then((text) => {
      open(which, text);
      place.scrollIntoView();
    }, (problem) => (state.textContent = `The link holds no kernel: ${problem.message}`));
    return true;
  };
  open("plain");
  fromAddress();
  addEventListener("hashchange", fromAddress);
}
