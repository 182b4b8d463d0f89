"""A graphics card that is lost in the middle of the work, by a layer of Vulkan that simulates it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gravitile

SOURCES = Path(__file__).resolve().parents[2] / "tests" / "common"

CODE = """
import os
import gravitile

def tried(call):
    try:
        call()
        return "done"
    except gravitile.DeviceError as error:
        return type(error).__name__

bodies = gravitile.scene("plummer", n=600, seed=1).bodies
simulation = gravitile.Simulation(bodies, eps=0.1, dt=0.01, engine="gpu")
forces = lambda: gravitile.accelerations(bodies.position, 1.0, eps=0.1, engine="gpu")
before = forces()
simulation.step(2)
open(os.environ["LOSE_DEVICE"], "w").close()
print(tried(lambda: simulation.step(10)), tried(forces))
os.remove(os.environ["LOSE_DEVICE"])
# The lost device stays lost; a new one works, and the CPU always has.
print(tried(lambda: simulation.step(1)), tried(lambda: simulation.position))
print(tried(forces), (forces() == before).all())
"""


def test_a_lost_device_is_an_error_and_a_new_one_works(tmp_path):
    if not gravitile.adapters() or not shutil.which("cc") or sys.platform != "linux":
        pytest.skip("no adapter, or no compiler of C for the layer that loses it")
    for name in ("lose.c", "lose.json"):
        shutil.copy(SOURCES / name, tmp_path)
    build = ["cc", "-shared", "-fPIC", "-o", "liblose.so", "lose.c"]
    subprocess.run(build, cwd=tmp_path, check=True)
    environment = {
        **os.environ,
        "VK_LAYER_PATH": ".",
        "VK_INSTANCE_LAYERS": "VK_LAYER_GRAVITILE_lose",
        "LOSE_DEVICE": str(tmp_path / "lost"),
    }
    run = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    expected = ["DeviceError DeviceError", "DeviceError DeviceError", "done True"]
    assert run.stdout.splitlines() == expected, run.stderr


def test_tuning_times_kernels_and_remembers_the_fastest():
    if not gravitile.adapters():
        with pytest.raises(gravitile.DeviceError):
            gravitile.tune(64, secs=0.1)
        pytest.skip("no adapter")
    stored = Path(os.environ["GRAVITILE_CACHE_DIR"]) / "tuned.toml"
    found = gravitile.tune(64, secs=0.3, remember=False)
    assert not stored.exists()
    assert found.n == 64 and found.adapter and found.gain >= 1.0
    assert found.best == found.ranking[0] and found.default in found.ranking
    assert found.best.seconds == min(one.seconds for one in found.ranking)
    assert found.interactions_per_second == pytest.approx(64**2 / found.best.seconds)
    again = gravitile.tune(64, secs=0.3)
    lines = stored.read_text().splitlines()
    assert {f"{name} = {getattr(again.best, name)}" for name in "pqrus"} <= set(lines)
    # Simulations take it, whatever it is.
    bodies = gravitile.scene("plummer", n=64).bodies
    gravitile.Simulation(bodies, eps=0.1, dt=0.01, engine="gpu", method="direct").step(2)
    stored.unlink()
    for arguments, words in [
        ({"n": 0}, "n is 0"),
        ({"n": 64, "secs": 0.0}, "secs is 0"),
        ({"n": 64, "secs": float("nan")}, "secs is nan"),
    ]:
        with pytest.raises(gravitile.InputError, match=words):
            gravitile.tune(**arguments)
    with pytest.raises(gravitile.DeviceError):
        gravitile.tune(64, adapter="no such card")
