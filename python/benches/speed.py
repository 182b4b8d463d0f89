"""What a call costs: forces of 100,000 bodies beside pytreegrav, an import, a call that returns at once.

Prints ratios and times of one run; pytreegrav is left out where it is not installed.
"""

import statistics
import subprocess
import sys
import time

import numpy as np

import gravitile


def seconds(call, turns=5):
    """The median of some turns, after one that compiles."""
    call()
    found = []
    for _ in range(turns):
        begun = time.perf_counter()
        call()
        found.append(time.perf_counter() - begun)
    return statistics.median(found)


def rms(found, right):
    return np.sqrt(((found - right) ** 2).sum() / (right**2).sum())


def imports():
    """Seconds that an import takes beyond numpy's, the median of processes."""
    code = "import time, numpy; t = time.perf_counter(); import gravitile; print(time.perf_counter() - t)"
    run = [sys.executable, "-c", code]
    return statistics.median(
        float(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
        for _ in range(9)
    )


def main(n=100_000):
    print(f"import beyond numpy's: {imports():.3f} s")
    pair = np.array([[0.0, 0, 0], [1, 0, 0]]), np.array([1.0, 2.0])
    many = 2000
    print(f"accelerations of 2 bodies: {seconds(lambda: [gravitile.accelerations(*pair) for _ in range(many)]) / many * 1e6:.1f} us")
    simulation = gravitile.Simulation(gravitile.Bodies(*pair[:1], mass=pair[1]), eps=0.1, dt=1e-3, integrator="leapfrog")
    print(f"simulation.time: {seconds(lambda: [simulation.time for _ in range(many)]) / many * 1e6:.1f} us")
    print(f"simulation.step() of 2 bodies: {seconds(lambda: [simulation.step() for _ in range(many)]) / many * 1e6:.1f} us")

    bodies = gravitile.scene("plummer", n=n, seed=1).bodies
    x, m, eps = bodies.position, bodies.mass, 0.01
    sample = np.arange(0, n, n // 500)
    right = gravitile.accelerations(x, m, eps=eps, at=x[sample], method="reference")
    ours = seconds(lambda: gravitile.accelerations(x, m, eps=eps, method="tree", engine="cpu"))
    error = rms(gravitile.accelerations(x, m, eps=eps, method="tree", engine="cpu")[sample], right)
    print(f"gravitile, tree of {n} bodies: {ours:.3f} s, rms error {error:.1e}")
    try:
        import pytreegrav
    except ImportError:
        return
    # Its softening is the radius of a spline kernel; 2.8 eps has the potential depth of a Plummer sphere.
    h = np.full(n, 2.8 * eps)
    exact = pytreegrav.AccelTarget(x[sample], x, m, np.full(len(sample), 2.8 * eps), h, method="bruteforce")
    for parallel in (False, True):
        call = lambda: pytreegrav.Accel(x, m, h, method="tree", parallel=parallel)
        theirs = seconds(call, 3)
        error = rms(call()[sample], exact)
        print(
            f"pytreegrav, parallel={parallel}: {theirs:.3f} s, rms error {error:.1e}, "
            f"{theirs / ours:.1f} times as long"
        )


if __name__ == "__main__":
    main()
