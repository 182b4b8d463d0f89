"""What a call costs: forces of 100,000 bodies beside pytreegrav, an import, a call that returns at once; with the path
of the program as argument, of the same build, also steps beside its own.

Prints times and ratios of one run; pytreegrav is left out where it is not installed. Processor time, that of all
threads, is what to compare on a machine that does other work.
"""

import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import gravitile


def seconds(call, turns=5):
    """The medians of some turns, after one that compiles: by the clock, and of the processor."""
    call()
    found = []
    for _ in range(turns):
        begun, used = time.perf_counter(), time.process_time()
        call()
        found.append((time.perf_counter() - begun, time.process_time() - used))
    return tuple(statistics.median(of) for of in zip(*found))


def micros(call, many=2000):
    """Microseconds of a call by the clock."""
    return seconds(lambda: [call() for _ in range(many)])[0] / many * 1e6


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


def small_calls():
    x, m = np.array([[0.0, 0, 0], [1, 0, 0]]), np.array([1.0, 2.0])
    pair = gravitile.Simulation(
        gravitile.Bodies(x, mass=m), eps=0.1, dt=1e-3, integrator="leapfrog"
    )
    print(f"accelerations of 2 bodies: {micros(lambda: gravitile.accelerations(x, m)):.1f} us")
    print(f"simulation.time: {micros(lambda: pair.time):.1f} us")
    print(f"simulation.step() of 2 bodies: {micros(pair.step):.1f} us")


def many_bodies(n):
    bodies = gravitile.scene("plummer", n=n, seed=1).bodies
    x, m, eps = bodies.position, bodies.mass, 0.01
    sample = np.arange(0, n, n // 500)
    right = gravitile.accelerations(x, m, eps=eps, at=x[sample], method="reference")
    ours = {}
    for options in ({}, {"alpha": 0.04}, {"theta": 0.8}):
        call = lambda: gravitile.accelerations(
            x, m, eps=eps, method="tree", engine="cpu", **options
        )
        ours[str(options)] = (*seconds(call), rms(call()[sample], right))
        wall, used, error = ours[str(options)]
        print(
            f"gravitile, {n} bodies, {options}: {wall:.3f} s, processor {used:.3f} s, error {error:.1e}"
        )
    try:
        import pytreegrav
    except ImportError:
        return
    # Its softening is the radius of a spline kernel; 2.8 eps has the depth of a Plummer sphere.
    h = np.full(n, 2.8 * eps)
    exact = pytreegrav.AccelTarget(x[sample], x, m, h[sample], h, method="bruteforce")
    for parallel in (False, True):
        call = lambda: pytreegrav.Accel(x, m, h, method="tree", parallel=parallel)
        wall, used = seconds(call, 3)
        error = rms(call()[sample], exact)
        print(
            f"pytreegrav, parallel={parallel}: {wall:.3f} s, processor {used:.3f} s, error {error:.1e}"
        )
        for options, (own, own_used, _) in ours.items():
            print(f"  {wall / own:.1f} times as long as {options}, processor {used / own_used:.1f}")


def steps_beside(program, n, steps):
    """Processor time of steps in Python and in the program, less that of one step, in turns."""
    scene, ratios = gravitile.scene("plummer", n=n, seed=1), []

    def ours(count):
        simulation = gravitile.Simulation(scene, engine="cpu", method="tree")
        begun = time.process_time()
        simulation.step(count)
        return time.process_time() - begun

    def theirs(count):
        until = str(count * scene.dt)
        with tempfile.TemporaryDirectory() as folder:
            options = ["-n", str(n), "--seed", "1", "--engine", "cpu", "--method", "tree"]
            times = ["--dt", str(scene.dt), "--until", until, "--every", until]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            run = [program, "run", "plummer", *options, *times, "--out", folder + "/run"]
            subprocess.run(run, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    for _ in range(5):
        own = ours(steps) - ours(1)
        ratios.append(own / (theirs(steps) - theirs(1)))
    print(f"{steps} steps of {n} bodies beside the program's: {statistics.median(ratios):.3f} of the time")
    print("  " + " ".join(f"{ratio:.3f}" for ratio in sorted(ratios)))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        steps_beside(sys.argv[1], 16_384, 1000)
    print(f"import beyond numpy's: {imports():.3f} s")
    small_calls()
    many_bodies(100_000)
