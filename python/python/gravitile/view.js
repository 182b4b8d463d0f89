// The browser's side of gravitile.view: draws pictures that the kernel makes, and sends what the mouse did.
// One request is under way at a time; the next takes along all moves since.

// After so long without an answer the view shows what it waits for, in milliseconds.
const PATIENCE = 3000;
// How many times nearer one pixel of a wheel brings the bodies, as a logarithm.
const PER_WHEEL_PIXEL = 0.0015;

const still = () => ({ reset: false, turn: [0, 0], pan: [0, 0], zoom: 1, at: [0, 0] });

function element(kind, parent, properties) {
  return parent.appendChild(Object.assign(document.createElement(kind), properties));
}

function render({ model, el }) {
  const view = Math.random().toString(36).slice(2);
  const box = element("div", el, { className: "gravitile-view" });
  const [width, height] = model.get("size");
  const canvas = element("canvas", box, { width, height, tabIndex: 0 });
  const bar = element("div", box, { className: "bar" });
  let moves = still();
  let pictureDue = true;
  let once = false;
  let waiting = null;
  let visible = true;
  let ended = false;

  const play = element("button", bar, { title: "play or pause (space)", className: "play" });
  const one = element("button", bar, { title: "one picture on", textContent: "+1" });
  const back = element("button", bar, { title: "first view (double click)", textContent: "⟲" });
  const message = element("span", bar, { className: "message" });

  const plays = () => model.get("playing") && visible && !document.hidden;

  function request() {
    if (waiting !== null || ended || !(pictureDue || once || plays())) return;
    waiting = setTimeout(() => (message.textContent = "waiting for the kernel"), PATIENCE);
    model.send({ kind: "look", view, advance: once || plays(), ...moves });
    [moves, pictureDue, once] = [still(), false, false];
  }

  async function receive(content, buffers) {
    if (content.kind === "error") message.textContent = content.text;
    if (content.kind === "frame") {
      const picture = await createImageBitmap(new Blob([buffers[0]], { type: "image/webp" }));
      canvas.getContext("2d").drawImage(picture, 0, 0);
      picture.close();
      message.textContent = content.time === undefined ? "" : `t = ${Number(content.time.toPrecision(6))}`;
      canvas.dataset.steps = content.steps;
      canvas.dataset.frames = Number(canvas.dataset.frames ?? 0) + 1;
    }
    if (content.view === view) {
      clearTimeout(waiting);
      waiting = null;
      requestAnimationFrame(request);
    }
  }

  function show() {
    play.textContent = model.get("playing") ? "❚❚" : "▶";
    request();
  }

  function toggle() {
    model.set("playing", !model.get("playing"));
    model.save_changes();
  }

  function update(change) {
    change();
    pictureDue = true;
    request();
  }

  // Pixels of the picture, which may be shown smaller than it is.
  const scale = () => canvas.width / canvas.getBoundingClientRect().width;

  let last = [0, 0];
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    last = [event.clientX, event.clientY];
  });
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons === 0) return;
    const drag = event.buttons === 2 || event.shiftKey ? moves.pan : moves.turn;
    update(() => {
      drag[0] += (event.clientX - last[0]) * scale();
      drag[1] += (event.clientY - last[1]) * scale();
    });
    last = [event.clientX, event.clientY];
  });
  canvas.addEventListener("contextmenu", (event) => {
    event.preventDefault();
    // JupyterLab would show a menu of its own.
    event.stopPropagation();
  });
  canvas.addEventListener("dblclick", () => update(() => (moves = { ...still(), reset: true })));
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const pixels = event.deltaY * [1, 16, 400][event.deltaMode];
      update(() => {
        moves.zoom = Math.min(Math.max(moves.zoom * Math.exp(-pixels * PER_WHEEL_PIXEL), 1e-3), 1e3);
        moves.at = [event.offsetX * scale(), event.offsetY * scale()];
      });
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", (event) => {
    if (event.key !== " " || !model.get("moves")) return;
    event.preventDefault();
    // A notebook would scroll.
    event.stopPropagation();
    toggle();
  });
  play.addEventListener("click", toggle);
  one.addEventListener("click", () => update(() => (once = true)));
  back.addEventListener("click", () => update(() => (moves = { ...still(), reset: true })));
  play.hidden = one.hidden = !model.get("moves");

  const watcher = new IntersectionObserver((entries) => {
    visible = entries.at(-1).isIntersecting;
    request();
  });
  watcher.observe(canvas);
  document.addEventListener("visibilitychange", request);
  model.on("msg:custom", receive);
  model.on("change:playing", show);
  show();

  return () => {
    ended = true;
    clearTimeout(waiting);
    watcher.disconnect();
    document.removeEventListener("visibilitychange", request);
    model.off("msg:custom", receive);
    model.off("change:playing", show);
  };
}

export default { render };
