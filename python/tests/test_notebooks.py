"""The notebooks of `examples/notebooks`, and a view in a real Jupyter server that Chromium opens. Long."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
# Every clone of the repository holds them.
MOST_BYTES = 400_000


def run_notebook(path, folder):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    book = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.execute()
    return book


def outputs(book):
    """What the cells print and show, without pictures."""
    for cell in book.cells:
        for out in cell.get("outputs", []):
            yield out.get("text") or out.get("data", {}).get("text/plain") or ""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_says_what_it_said(path, tmp_path):
    needs = {"star-cluster": ["rebound", "matplotlib"], "forces-on-arrays": ["pytreegrav"]}
    for name in needs.get(path.stem, []):
        pytest.importorskip(name)
    nbformat = pytest.importorskip("nbformat")
    stored = nbformat.read(path, as_version=4)
    assert path.stat().st_size < MOST_BYTES
    book = run_notebook(path, tmp_path)
    words = [re.sub(r"[-+\d.e]+", "#", "".join(outputs(of))) for of in (stored, book)]
    if path.stem not in ("tiles", "forces-on-arrays", "first-steps"):
        # Numbers of other machines may differ, their text does not.
        assert [line[:30] for line in words[0].splitlines()] == [
            line[:30] for line in words[1].splitlines()
        ]
    text = "".join(outputs(book))
    found = {name: [float(x) for x in re.findall(pattern, text)] for name, pattern in {
        "energy": r"energy changed by (\S+) of itself",
        "apart": r"differ by less than (\S+) after",
        "error": r"error (\S+),",
    }.items()}  # fmt: skip
    assert all(abs(x) < 1e-3 for x in found["energy"])
    assert all(x < 1e-3 for x in found["apart"]) and all(x < 0.01 for x in found["error"])
    if path.stem == "star-cluster":
        assert found["apart"]


class Browser:
    """Chromium, driven by its debugging protocol."""

    def __init__(self, program, folder):
        websocket = pytest.importorskip("websocket")
        options = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
            "--remote-allow-origins=*", "--window-size=1200,900", f"--user-data-dir={folder}",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            [program, *options, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        port = wait(lambda: (folder / "DevToolsActivePort").read_text().split()[0], 60)
        pages = f"http://127.0.0.1:{port}/json/list"
        page = wait(lambda: [p for p in get_json(pages) if p["type"] == "page"][0], 60)
        self.socket = websocket.create_connection(page["webSocketDebuggerUrl"], timeout=60)
        self.count = 0

    def send(self, method, **arguments):
        self.count += 1
        self.socket.send(json.dumps({"id": self.count, "method": method, "params": arguments}))
        while True:
            reply = json.loads(self.socket.recv())
            if reply.get("id") == self.count:
                assert "error" not in reply, reply
                return reply["result"]

    def value(self, code):
        found = self.send("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", buttons=1, clickCount=1)

    def close(self):
        self.process.terminate()
        self.process.wait(30)


def get_json(address):
    with urllib.request.urlopen(address, timeout=10) as answer:
        return json.load(answer)


def wait(condition, seconds):
    """What the condition returns when it is true; no longer than so many seconds."""
    end, problem = time.monotonic() + seconds, None
    while time.monotonic() < end:
        try:
            found = condition()
            if found:
                return found
        except (OSError, LookupError, ValueError) as error:
            problem = error
        time.sleep(0.1)
    raise AssertionError(f"nothing within {seconds} s: {problem}")


CELL = """
import gravitile
simulation = gravitile.Simulation(gravitile.scene("plummer", n=500, seed=1), dt=0.01, integrator="leapfrog")
view = simulation.view(size=(320, 180), steps=2)
view
"""

# The mean place of the light of the canvas, and its sum.
LIGHT = """(() => {
  const canvas = document.querySelector(".gravitile-view canvas");
  const { width, height } = canvas;
  const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
  let [all, x, y] = [0, 0, 0];
  for (let i = 0; i < width * height; i++) {
    const sum = data[4 * i] + data[4 * i + 1] + data[4 * i + 2];
    const light = sum > 150 ? sum : 0;
    all += light; x += light * (i % width); y += light * Math.floor(i / width);
  }
  return [all, x / all, y / all];
})()"""


def test_a_view_in_jupyter_obeys_the_mouse(tmp_path):
    pytest.importorskip("anywidget")
    pytest.importorskip("jupyterlab")
    nbformat = pytest.importorskip("nbformat")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium to open the notebook in")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(book, tmp_path / "view.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [
            sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}",
            "--IdentityProvider.token=t", "--LabApp.expose_app_in_browser=True", f"--notebook-dir={tmp_path}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "JUPYTER_CONFIG_DIR": str(tmp_path / "config")},
    )  # fmt: skip
    browser = None
    try:
        wait(lambda: get_json(f"http://127.0.0.1:{port}/api/status?token=t"), 90)
        browser = Browser(program, tmp_path / "browser")
        browser.send("Page.navigate", url=f"http://127.0.0.1:{port}/lab/tree/view.ipynb?token=t")
        # Cells that are run before there is a kernel are not run at all.
        run = """(() => {
          const app = window.jupyterapp;
          const book = app && [...app.shell.widgets("main")].find((of) => of.context?.path === "view.ipynb");
          if (book?.context.sessionContext.session?.kernel?.status !== "idle") return false;
          app.shell.activateById(book.id);
          app.commands.execute("notebook:run-all-cells");
          return true;
        })()"""
        wait(lambda: browser.value(run), 120)
        count = 'Number(document.querySelector(".gravitile-view canvas")?.dataset.frames ?? 0)'
        steps = 'Number(document.querySelector(".gravitile-view canvas")?.dataset.steps ?? 0)'
        wait(lambda: browser.value(count) > 0, 120)
        place = """(() => {
          const box = document.querySelector(".gravitile-view canvas");
          box.scrollIntoView({ block: "center" });
          const { x, y, width, height } = box.getBoundingClientRect();
          return [x + width / 2, y + height / 2];
        })()"""
        x, y = browser.value(place)
        all_light, _, middle = browser.value(LIGHT)
        assert all_light > 1e5 and browser.value(steps) == 0

        # Dragged with the right button, the bodies follow the pointer.
        before = browser.value(count)
        browser.mouse("mousePressed", x, y, button="right", buttons=2, clickCount=1)
        browser.mouse("mouseMoved", x, y + 40, button="right", buttons=2)
        browser.mouse("mouseReleased", x, y + 40, button="right", buttons=0, clickCount=1)
        wait(lambda: browser.value(count) > before, 30)
        wait(lambda: 30 < browser.value(LIGHT)[2] - middle < 45, 30)
        # The wheel takes them away: there is less light.
        before = browser.value(count)
        browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=300)
        wait(lambda: browser.value(count) > before and browser.value(LIGHT)[0] < 0.7 * all_light, 30)
        browser.value('document.querySelectorAll(".gravitile-view button")[2].click()')
        wait(lambda: abs(browser.value(LIGHT)[2] - middle) < 3, 30)

        browser.value('document.querySelector(".gravitile-view .play").click()')
        wait(lambda: browser.value(steps) >= 20, 60)
        browser.value('document.querySelector(".gravitile-view .play").click()')
        # One picture may be under way.
        wait(lambda: (a := browser.value(steps), time.sleep(1.0), browser.value(steps))[2] == a, 30)
        text = browser.value('document.querySelector(".gravitile-view .message").textContent')
        assert text.startswith("t = ") and float(text[4:]) == pytest.approx(browser.value(steps) * 0.01)
    finally:
        if browser is not None:
            browser.close()
        server.terminate()
        server.wait(30)
