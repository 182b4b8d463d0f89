"""Memory of bodies in copies of their arrays (65 bytes per body: position, velocity, mass, id, component): what each
call takes at most beyond what was there before, and what remains.

Takes the number of bodies as argument, 10,000,000 by default. Linux only: it reads and resets the peak of the process
in /proc.
"""

import pathlib
import sys

import numpy as np

import gravitile

BYTES = 65


def kilobytes(name):
    """A number of the process's status: VmRSS, VmHWM."""
    text = pathlib.Path("/proc/self/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith(name)).split()[1])


def measured(what, call):
    """Prints the peak of a call and what remains while its result is kept, which it returns."""
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before = kilobytes("VmRSS")
    result = call()
    peak, after = kilobytes("VmHWM") - before, kilobytes("VmRSS") - before
    copies = [1024 * size / (BYTES * N) for size in (peak, after)]
    print(f"{what}: at most {copies[0]:.2f} copies, {copies[1]:.2f} remain", flush=True)
    return result


N = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000

if __name__ == "__main__":
    # The kernels' tables and threads.
    gravitile.Simulation(gravitile.scene("plummer", n=20_000), method="tree", engine="cpu").step()
    random = np.random.default_rng(1)
    x = random.normal(size=(N, 3))
    v = random.normal(size=(N, 3))
    m = np.full(N, 1.0 / N)
    bodies = measured("Bodies", lambda: gravitile.Bodies(x, v, m))
    options = {"method": "tree", "engine": "cpu", "eps": 0.01}
    measured("accelerations", lambda: gravitile.accelerations(x, m, **options))
    simulation = measured("Simulation", lambda: gravitile.Simulation(bodies, dt=1e-3, **options))
    measured("Simulation.step", simulation.step)
    measured("Simulation.position", lambda: simulation.position)
    measured("Simulation.bodies", lambda: simulation.bodies)
