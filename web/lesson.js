// The lesson's page: its live figures, its questions, and what is kept in the browser. The text is there without any of this.

import { editor } from "./editor.js";

const $ = (selector, within = document) => within.querySelector(selector);
export const make = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in element && key !== "list") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
};

// Storage may be forbidden or full: the lesson works without.
export const kept = {
  get(key) {
    try { return localStorage.getItem(`gravitile/lesson/${key}`); } catch { return null; }
  },
  set(key, value) {
    try { localStorage.setItem(`gravitile/lesson/${key}`, value); } catch { /* not kept */ }
  },
};

// ---- The worker. ----

let worker = null;
let next = 0;
// Errors of workers that never answered: after some there is no use in another.
let failures = 0;
const MOST_FAILURES = 3;
const waiting = new Map();

function begin() {
  worker = new Worker(new URL("lesson-worker.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data: { id, part, done, problem } }) => {
    const asked = waiting.get(id);
    if (!asked) return;
    failures = 0;
    if (part !== undefined) return asked.partly?.(part);
    waiting.delete(id);
    clearTimeout(asked.timer);
    if (problem !== undefined) asked.fail(new Error(problem));
    else asked.done(done);
  };
  worker.onerror = (event) => {
    failures++;
    restart(event.message || "the live figures could not be loaded");
  };
}

// Ends the worker with all that it was doing, and starts another.
export function restart(why) {
  worker?.terminate();
  for (const { fail, timer } of waiting.values()) {
    clearTimeout(timer);
    fail(new Error(why));
  }
  waiting.clear();
  if (failures >= MOST_FAILURES) worker = null;
  else begin();
  opened = call("open", []);
  opened.catch(() => {});
}

// Calls a function of the worker. Without an answer within `patience` milliseconds the worker is ended.
export function call(name, args, { partly, patience } = {}) {
  if (!worker) return Promise.reject(new Error("the live figures could not be loaded"));
  return new Promise((done, fail) => {
    const id = next++;
    const timer = patience && setTimeout(() => restart(`no answer within ${patience / 1000} s: the device was let go, and another is opened`), patience);
    waiting.set(id, { done, fail, partly, timer });
    worker.postMessage({ id, call: name, args });
  });
}

let opened;

// A lost device is replaced for what comes next.
export async function onDevice(name, args, options) {
  await opened;
  try {
    return await call(name, args, options);
  } catch (problem) {
    if (/device (was|is) lost|device failed|on the way/i.test(problem.message)) restart(problem.message);
    throw problem;
  }
}

// ---- Figures. ----

const TITLES = {
  ladder: "The ladder: seven kernels, each with one more idea",
  n: "Rate as N grows (figure 31-6)",
  unroll: "Loop unrolling (figure 31-5)",
  p: "Block size (figure 31-7)",
  q: "Several threads per body (figure 31-8)",
  shapes: "All shapes of p x q",
  model: "The model (dashed) beside what is measured",
  "tree-error": "Error against alpha",
  "tree-time": "Time against N, beside all pairs",
};

function showPlots(place, plots) {
  // Made by gravitile's own SVG writer, which escapes every text.
  place.innerHTML = plots.join("");
}

function table(rows) {
  const [head, ...body] = rows;
  return make("table", {},
    make("thead", {}, make("tr", {}, ...head.map((cell) => make("th", { scope: "col" }, cell)))),
    make("tbody", {}, ...body.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell))))));
}

// Figures that the processor computes, without a device, too; the times also on the device, if there is one.
const ON_PROCESSOR = new Set(["tree-error", "tree-time"]);

function liveFigure(name, hasPicture) {
  const state = make("span", {}, "");
  const button = make("button", { type: "button", disabled: true }, "Measure again");
  const pictures = make("div", { className: "pictures", tabIndex: 0, role: "group", ariaLabel: TITLES[name] });
  const bar = make("progress", { max: 1, value: 0, hidden: true, ariaLabel: "Measured so far" });
  const status = make("p", { className: "note", role: "status" });
  const words = make("ul", { className: "note" });
  const numbers = make("div", { className: "wide", tabIndex: 0, role: "region", ariaLabel: "Numbers" });
  const details = make("details", { hidden: true }, make("summary", {}, "The numbers"), numbers);
  const terms = make("dl", {});
  const about = make("details", { hidden: true }, make("summary", {}, "What each kernel adds"), terms);
  const element = make("section", { className: "live", id: `live-${name}`, ariaLabel: TITLES[name] },
    make("h4", {}, `${TITLES[name]} `, state), pictures, bar, status, words, about, details, make("div", { className: "row" }, button));

  function show({ plots, rows, done, sentences, about: known }) {
    showPlots(pictures, plots);
    about.hidden = !known?.length;
    if (!terms.children.length) terms.append(...(known ?? []).flatMap(([kernel, why]) => [make("dt", {}, kernel), make("dd", {}, why)]));
    numbers.replaceChildren(table(rows));
    details.hidden = rows.length < 2;
    if (done !== undefined) bar.value = done;
    words.replaceChildren(...(sentences ?? []).map((text) => make("li", {}, text)));
  }
  async function recorded(why) {
    state.textContent = "";
    status.textContent = why;
    if (hasPicture) status.textContent += " The recorded figure is above.";
    try {
      const answer = await call("recorded", [name, await records(), pictures.clientWidth]);
      if (!answer.plots.length) return void (status.textContent += " There is no recorded measurement of this figure.");
      known(name, answer, `recorded: ${answer.device}`);
      if (hasPicture) return;
      show(answer);
      state.textContent = `recorded: ${answer.device}`;
    } catch (problem) {
      status.textContent += ` (${problem.message})`;
    }
  }
  async function measure() {
    button.disabled = true;
    const isOnProcessor = ON_PROCESSOR.has(name);
    if (isOnProcessor) {
      const device = name === "tree-time" ? await opened.then((answer) => answer.device, () => "") : "";
      state.textContent = device ? `on this device: ${device}, and its processor` : "on this device's processor";
    } else {
      try {
        state.textContent = `on this device: ${(await opened).device}`;
      } catch (problem) {
        return recorded(`Not measured: ${problem.message}.`);
      }
    }
    status.textContent = "Measuring …";
    bar.hidden = false;
    bar.value = 0;
    const begun = performance.now();
    try {
      const [ask, what] = isOnProcessor ? [call, "tree_figure"] : [onDevice, "measure"];
      const answer = await ask(what, [name, pictures.clientWidth], { partly: (part) => {
        show(part);
        performance.mark(`figure-${name}`);
        status.textContent = `Measuring: ${Math.round(100 * part.done)} %`;
      }, patience: 180_000 });
      show(answer);
      known(name, answer, state.textContent);
      const left = answer.left ? ` ${answer.left} points were left out: ${answer.why}.` : "";
      status.textContent = `Measured in ${((performance.now() - begun) / 1000).toFixed(1)} s by ${answer.method}.${left}${
        hasPicture ? " The recorded figure is above." : ""}`;
    } catch (problem) {
      status.textContent = `The measurement has ended: ${problem.message}.`;
    }
    element.dataset.state = "done";
    bar.hidden = true;
    button.disabled = false;
  }
  button.onclick = measure;
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    measure();
  }, { rootMargin: "200px" });
  seen.observe(element);
  return element;
}

let recordsText;
function records() {
  recordsText ??= fetch(new URL("lesson-records.json", import.meta.url)).then((answer) => answer.text());
  return recordsText;
}

// ---- Sliders. ----

// A slider for each [name, about, least, most, value, text of a value]; `changed` is called after each move.
export function sliders(list, changed) {
  const values = {};
  const inputs = {};
  const labels = list.map(([name, about, least, most, value, text = String]) => {
    const shown = make("span", {}, "");
    const input = make("input", { type: "range", min: least, max: most, value });
    const set = () => {
      values[name] = Number(input.value);
      shown.textContent = input.ariaValueText = text(values[name]);
    };
    input.oninput = () => { set(); changed(name); };
    inputs[name] = { input, put: (value) => { input.value = value; set(); } };
    set();
    return make("label", {}, make("span", {}, `${about}: `, shown), input);
  });
  return { values, inputs, element: make("div", { className: "sliders" }, ...labels) };
}
const power = (k) => String(2 ** k);
export const status = () => make("p", { className: "note", role: "status" });

// ---- The slow motion. ----

function slowMotion() {
  const ABOUT = { p: "p, threads along the sinks", q: "q, threads per sink", r: "r, sinks per thread", u: "u, interactions unrolled", s: "s, slices of the sources" };
  const shape = sliders([["p", 2, 8, 6], ["q", 0, 4, 0], ["r", 0, 3, 0], ["u", 0, 3, 2], ["s", 0, 3, 0]]
    .map(([name, ...range]) => [name, ABOUT[name], ...range, power]), () => paint());
  const untiled = make("input", { type: "checkbox" });
  untiled.onchange = () => paint();
  const pictures = make("div", { className: "pictures fits", tabIndex: 0, role: "group", ariaLabel: "Slow motion of the kernel" });
  const state = make("p", { className: "state" });
  const words = make("p", { className: "note" });
  const hold = make("button", { type: "button" });
  const steps = [["Load", 0.4], ["Barrier", 0.85], ["Compute", 1.6], ["Barrier 2", 2.3]].map(([name, secs]) =>
    make("button", { type: "button", onclick: () => { held(true); time = secs; paint(); } }, name));
  const element = make("section", { className: "live", id: "live-slow-motion", ariaLabel: "Slow motion" },
    make("h4", {}, "A kernel in slow motion"), shape.element,
    make("label", {}, untiled, " without tiles"), make("div", { className: "row" }, hold, ...steps), state, pictures, words);
  let [time, moving, visible, drawing, last] = [0, false, false, false, 0];
  function held(is) {
    moving = !is;
    hold.textContent = is ? "Move" : "Hold";
    hold.setAttribute("aria-pressed", String(is));
  }
  async function paint() {
    if (drawing) return;
    drawing = true;
    const numbers = ["p", "q", "r", "u", "s"].map((name) => 2 ** shape.values[name]);
    try {
      const answer = await call("slow_motion", [...numbers, untiled.checked, 4096, time, pictures.clientWidth]);
      pictures.innerHTML = answer.svg;
      state.textContent = answer.state;
      words.textContent = answer.words;
    } catch (problem) {
      words.textContent = `This shape is not possible: ${problem.message}.`;
    }
    drawing = false;
  }
  function frame(now) {
    if (!visible || !moving) return;
    // Twenty pictures a second are enough for it.
    if (now - last > 50) {
      time += Math.min(now - last, 100) / 1000;
      last = now;
      paint();
    }
    requestAnimationFrame(frame);
  }
  hold.onclick = () => {
    held(moving);
    requestAnimationFrame(frame);
  };
  held(matchMedia("(prefers-reduced-motion: reduce)").matches);
  new IntersectionObserver(([entry]) => {
    visible = entry.isIntersecting;
    if (visible) { paint(); requestAnimationFrame(frame); }
  }).observe(element);
  return element;
}

// ---- The tree. ----

function treePicture() {
  const cells = sliders([["depth", "depth, levels of boxes below the whole", 0, 8, 3]], paint);
  const lists = sliders([
    ["rank", "body, from the middle outwards", 0, 4095, 0],
    ["alpha", "alpha, the error that is allowed", -8, -2, -5, (k) => (10 ** (k / 2)).toPrecision(2)],
  ], paint);
  const which = ["Boxes of the tree", "What acts on a body"].map((name, at) => {
    const input = make("input", { type: "radio", name: "tree-view", value: at, checked: !at });
    input.onchange = paint;
    return [input, make("label", {}, input, ` ${name}`)];
  });
  const pictures = make("div", { className: "pictures fits square", id: "tree-picture" });
  const words = make("p", { className: "state", role: "status" });
  const element = make("section", { className: "live", id: "live-tree", ariaLabel: "The tree" },
    make("h4", {}, "The tree of 4,096 bodies, seen from above"),
    make("div", { className: "row", role: "radiogroup", ariaLabel: "What is shown" }, ...which.map(([, label]) => label)),
    cells.element, lists.element, words, pictures,
    make("p", { className: "note" }, "Click on a body to see what acts on it, or move the slider."));
  let [drawing, again] = [false, false];
  async function paint() {
    const hasLists = which[1][0].checked;
    [cells.element.hidden, lists.element.hidden] = [hasLists, !hasLists];
    again = drawing;
    if (drawing) return;
    drawing = true;
    try {
      const width = pictures.clientWidth;
      const answer = hasLists
        ? await call("tree_lists", [lists.values.rank, 10 ** (lists.values.alpha / 2), width])
        : await call("tree_cells", [cells.values.depth, width]);
      pictures.innerHTML = answer.svg;
      words.textContent = answer.words;
      cells.inputs.depth.input.max = answer.deepest;
    } catch (problem) {
      words.textContent = `The tree could not be drawn: ${problem.message}.`;
    }
    drawing = false;
    if (again) paint();
  }
  pictures.onclick = async (event) => {
    const box = pictures.firstElementChild?.getBoundingClientRect();
    if (!box?.width) return;
    lists.inputs.rank.put(await call("tree_body_at", [box.width, event.clientX - box.left, event.clientY - box.top]));
    which[1][0].checked = true;
    paint();
  };
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    paint();
  }, { rootMargin: "200px" });
  seen.observe(element);
  return element;
}

// ---- Scores. ----

function scores(place) {
  const measure = make("button", { type: "button", id: "score-measure" }, "Measure the score");
  const bar = make("progress", { max: 1, value: 0, hidden: true, ariaLabel: "Measured so far" });
  const line = make("p", { role: "status", className: "state", id: "score-line" });
  const code = make("div", { className: "qr", id: "score-code" });
  const link = make("a", { hidden: true, id: "score-link" });
  const area = make("textarea", { id: "score-others", rows: 6, spellcheck: false });
  area.value = kept.get("scores") ?? "";
  const pictures = make("div", { className: "pictures", tabIndex: 0, role: "group", ariaLabel: "Scores compared" });
  const numbers = make("div", { className: "wide", tabIndex: 0, role: "region", ariaLabel: "Table of scores" });
  const problems = make("ul", { className: "errors" });
  place.append(make("div", { className: "row" }, measure), bar, line, code, link,
    make("label", { htmlFor: area.id }, "Scores to compare, one a line, up to thirty:"), area, problems, pictures, numbers);

  async function compare() {
    kept.set("scores", area.value.slice(0, 20_000));
    let wrong;
    try {
      const answer = await call("compare", [area.value.slice(0, 20_000), pictures.clientWidth]);
      showPlots(pictures, answer.plots);
      numbers.replaceChildren(...(answer.plots.length ? [table(answer.rows)] : []));
      wrong = answer.problems;
    } catch (problem) {
      wrong = [problem.message];
    }
    problems.replaceChildren(...wrong.map((text) => make("li", { className: "bad" }, text)));
  }
  function add(text) {
    if (area.value.includes(text)) return;
    area.value = `${area.value.trimEnd()}\n${text}\n`.trimStart();
  }
  let timer;
  area.oninput = () => {
    clearTimeout(timer);
    timer = setTimeout(compare, 300);
  };
  measure.onclick = async () => {
    measure.disabled = true;
    bar.hidden = false;
    try {
      const answer = await onDevice("score", [], { partly: ({ done, doing }) => {
        bar.value = done;
        line.textContent = `Measuring steps of ${doing} …`;
      }, patience: 180_000 });
      line.textContent = [answer.words, ...answer.remarks.map((remark) => `Remark: ${remark}.`)].join(" ");
      link.href = link.textContent = `${location.href.split("#")[0]}#score=${answer.text}`;
      link.hidden = false;
      code.innerHTML = await call("qr", [link.href]);
      add(answer.text);
      await compare();
    } catch (problem) {
      line.textContent = `No score: ${problem.message}.`;
    }
    bar.hidden = true;
    measure.disabled = false;
  };
  const fromAddress = () => {
    const [, text] = location.hash.match(/^#score=([\w.~-]+)$/) ?? [];
    if (!text) return;
    add(text);
    place.scrollIntoView();
    compare();
  };
  fromAddress();
  addEventListener("hashchange", fromAddress);
  if (area.value) compare();
}

// ---- The occupancy calculator. ----

function occupancy() {
  const choice = make("select", { id: "occupancy-processor" });
  const size = make("select", { id: "occupancy-subgroup" });
  const kernel = sliders([
    ["p", "p, threads along the sinks", 3, 10, 8, power], ["q", "q, threads per sink", 0, 5, 0, power],
    ["r", "r, sinks per thread", 0, 3, 0, power], ["registers", "registers of a thread", 4, 255, 16],
    ["memory", "bytes of workgroup memory", 0, 64, 4, (k) => (1024 * k).toLocaleString("en")],
  ], changed);
  const words = make("p", { className: "state", role: "status" });
  const slots = make("div", { className: "slots", ariaHidden: "true" });
  const numbers = make("div", { className: "wide", tabIndex: 0, role: "region", ariaLabel: "What each resource has room for" });
  const source = make("p", { className: "note" });
  const element = make("section", { className: "live", id: "live-occupancy", ariaLabel: "Occupancy calculator" },
    make("h4", {}, "Occupancy calculator"),
    make("div", { className: "row" }, make("label", { htmlFor: choice.id }, "GPU:"), choice, make("label", { htmlFor: size.id }, "threads of a subgroup:"), size),
    kernel.element, words, slots, numbers, source);
  let known;
  function changed(name) {
    // What a kernel of this shape takes by itself; both can be moved afterwards.
    const { p, q, r } = kernel.values;
    if (name === "p" || name === "q") kernel.inputs.memory.put(Math.min(64, Math.ceil((16 * 2 ** (p + q)) / 1024)));
    if (name === "r") kernel.inputs.registers.put(known?.registers[r]?.[1] ?? 16);
    show();
  }
  async function show() {
    if (!known) return;
    const { p, q, r, registers, memory } = kernel.values;
    try {
      const answer = await call("occupancy", [Number(choice.value), Number(size.value), 2 ** p, 2 ** q, 2 ** r, registers, 1024 * memory]);
      words.textContent = answer.words;
      slots.replaceChildren(...answer.slots.map((group) => make("i", { className: group === null ? "" : `group${group % 2}` })));
      numbers.replaceChildren(...(answer.rows.length ? [table(answer.rows)] : []));
    } catch (problem) {
      words.textContent = `Not possible: ${problem.message}.`;
    }
  }
  function chosen() {
    const processor = known.processors[choice.value];
    size.replaceChildren(...processor.subgroups.map((count) => make("option", {}, String(count))));
    source.textContent = `A square is a slot for a subgroup; one shade is one workgroup. Limits by: ${processor.source}. Without a move of its own, `
      + "workgroup memory is one tile of p x q sources of 16 bytes, and registers are what Mesa's compiler takes for r on a Radeon RX 6800.";
    show();
  }
  choice.onchange = chosen;
  size.onchange = show;
  call("processors", []).then((answer) => {
    known = answer;
    choice.append(...known.processors.map(({ name }, at) => make("option", { value: at }, name)));
    choice.value = known.processors.findIndex(({ name }) => name === "RDNA 2");
    chosen();
  }, (problem) => (words.textContent = `Not possible: ${problem.message}.`));
  return element;
}

// ---- Questions. ----

// The rows of figures that are known, and where they were measured.
const outcomes = new Map();
function known(name, { rows }, where) {
  outcomes.set(name, { rows: rows.slice(1), where });
  document.dispatchEvent(new CustomEvent("figure-known", { detail: name }));
}

// Rates within this part of the fastest count as equally fast.
const AS_FAST = 0.95;

// Whether the predicted curve or kernel is the fastest of those to choose from, and in words.
function compared({ rows, where }, form, predicted) {
  const number = (text) => Number(text.replaceAll(",", ""));
  const sizes = rows.map((row) => number(row[1])).filter(Number.isFinite);
  const size = form.dataset.bodies === "most" ? Math.max(...sizes) : Math.min(...sizes);
  const best = (answer) => rows
    .filter(([curve, n, kernel]) => number(n) === size && (curve === answer || kernel.split(" ").includes(answer)))
    .reduce((most, row) => Math.max(most, number(row[3])), 0);
  const answers = [...form.querySelectorAll("label")].map((label) => label.textContent.trim());
  const [fastest, most] = answers.map((answer) => [answer, best(answer)]).reduce((a, b) => (b[1] > a[1] ? b : a));
  const rate = best(predicted);
  const right = rate >= AS_FAST * most;
  const text = (value) => (value ? value.toPrecision(3) : "not measured");
  const end = right ? "" : ` You predicted ${predicted}: ${text(rate)}.`;
  return [right, `${right ? "Right" : "Not so"}, ${where}: with ${size.toLocaleString("en")} bodies ${fastest} makes most, ${text(most)} x 10⁹ interactions/s.${end}`];
}

function questions() {
  const forms = [...document.querySelectorAll(".question")];
  const progress = $("#progress");
  // By its words: a question that is changed is asked again.
  const key = (form) => `answer/${$("legend", form).textContent}`;
  function count() {
    const right = forms.filter((form) => form.dataset.right).length;
    progress.hidden = false;
    progress.textContent = `${right} of ${forms.length} questions answered. Answers are kept in this browser only.`;
  }
  function judge(form, value) {
    const chosen = $(`input[value="${CSS.escape(value)}"]`, form);
    if (!chosen) return;
    chosen.checked = true;
    const output = $("output", form);
    const { figure } = form.dataset;
    if (figure && !outcomes.has(figure)) {
      output.textContent = `Noted. The figure “${TITLES[figure]}” decides, once it is measured.`;
      return;
    }
    const [right, words] = figure
      ? compared(outcomes.get(figure), form, chosen.parentElement.textContent.trim())
      : chosen.hasAttribute("data-right") ? [true, "Right."] : [false, "No: think again, or open the answer."];
    output.textContent = words;
    output.className = right ? "good" : "bad";
    // A prediction cannot be repeated: its answer is shown in any case.
    if (right || figure) {
      form.dataset.right = "yes";
      $("details", form).open = true;
    }
  }
  document.addEventListener("figure-known", ({ detail }) => {
    for (const form of forms.filter(({ dataset }) => dataset.figure === detail)) {
      const value = kept.get(key(form));
      if (value !== null) judge(form, value);
    }
    count();
  });
  for (const form of forms) {
    const before = kept.get(key(form));
    if (before !== null) judge(form, before);
    form.onsubmit = (event) => {
      event.preventDefault();
      const value = new FormData(form).values().next().value;
      if (value === undefined) return void ($("output", form).textContent = "Choose an answer first.");
      judge(form, value);
      kept.set(key(form), value);
      count();
    };
  }
  count();
}

// ---- The page. ----

questions();
begin();
const device = $("#device");
opened = call("open", []);
opened.then(
  ({ device: name, software }) => {
    device.textContent = `This device: ${name}.${software ? " It is a software adapter, which computes on the processor: sizes are small here, and tiles gain little." : ""}`;
  },
  ({ message }) => {
    device.textContent = `No live measurements: ${message}. Figures show what was recorded elsewhere, each with its device.`;
  },
);
for (const place of document.querySelectorAll("[data-live]")) {
  const name = place.dataset.live;
  const own = { "slow-motion": slowMotion, occupancy, tree: treePicture }[name];
  place.replaceWith(own ? own() : liveFigure(name, false));
}
for (const name of ["unroll", "p", "q"]) {
  const pictures = document.querySelectorAll(`[data-recorded="${name}"]`);
  pictures[pictures.length - 1]?.after(liveFigure(name, true));
}
for (const form of document.querySelectorAll("[data-figure]")) {
  document.getElementById(`live-${form.dataset.figure}`)?.before(form);
}
// Each in a task of its own: both ask for sizes, for which the browser lays out the whole page (25 ms of a slow core).
setTimeout(() => editor($("#kernel-editor")));
setTimeout(() => scores($("#score-place")));
