"""Ctrl-C, fork and panics: in processes of their own."""

import signal
import subprocess
import sys
import textwrap
import time

import pytest


def started(code):
    """A Python process that prints a line before it begins the call."""
    # A shell's background jobs ignore Ctrl-C, and so would their children.
    interruptible = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code = interruptible + "import gravitile, threading, numpy as np\n" + textwrap.dedent(code)
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "begins\n", process.communicate()
    return process


LONG = {
    "forces": "gravitile.accelerations(x, 1.0, method='reference')",
    "derivatives": "gravitile.forces(x, x, 1.0, eps=0.1, snap=True)",
    "opening": "gravitile.Simulation(gravitile.Bodies(x), eps=0.1, dt=0.1, method='reference')",
    "scene": "gravitile.scene('random-sphere', n=3_000_000)",
    "step": "simulation.step(10**9)",
    "integrate": "simulation.integrate(1e9)",
    "callback": "simulation.integrate(1e9, callback=lambda _: True)",
    "iterator": "[None for _ in simulation.integrate(1e9, every=1.0)]",
    "another thread": "threading.Thread(target=simulation.step, args=(10**9,), daemon=True).start(); simulation.time",
    "film": "simulation.film(frames=10**6, size=(64, 36))",
}


@pytest.mark.parametrize("call", LONG)
def test_control_c_ends_any_long_call(call):
    process = started(
        f"""
        x = np.random.default_rng(1).normal(size=(200_000, 3))
        few = gravitile.Bodies(x[:50])
        simulation = gravitile.Simulation(few, eps=0.1, dt=0.01, integrator="leapfrog")
        print("begins", flush=True)
        try:
            while True:
                {LONG[call]}
        except KeyboardInterrupt:
            if threading.active_count() == 1:
                simulation.step(1)
                assert simulation.steps > 0 and np.isfinite(simulation.position).all()
            print("usable")
            raise SystemExit(7)
        """
    )
    time.sleep(0.3)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    try:
        out, problem = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out) == (7, "usable\n"), problem


def test_an_exception_of_progress_ends_the_call():
    import gravitile

    simulation = gravitile.Simulation(gravitile.scene("plummer", n=2000, seed=1), eps=0.1)

    def stop(done, total):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        simulation.step(10**9, progress=stop)
    before = simulation.steps
    simulation.step(1)
    assert simulation.steps == before + 1


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no fork here")
def test_a_forked_process_is_refused_instead_of_hanging():
    process = started(
        """
        import os
        gravitile.accelerations([[0, 0, 0], [1, 0, 0]], 1.0)
        print("begins", flush=True)
        child = os.fork()
        if child == 0:
            try:
                gravitile.accelerations(np.zeros((3000, 3)), 1.0, eps=1.0)
            except gravitile.GravitileError as error:
                os._exit(9 if "forked" in str(error) else 8)
            os._exit(1)
        raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    _, problem = process.communicate(timeout=60)
    assert process.returncode == 9, problem


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no fork here")
def test_a_process_forked_before_use_works():
    process = started(
        """
        import os
        print("begins", flush=True)
        child = os.fork()
        if child == 0:
            found = gravitile.accelerations([[0, 0, 0], [1, 0, 0]], 1.0)
            os._exit(9 if abs(found[0, 0] - 1.0) < 1e-6 else 1)
        raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    _, problem = process.communicate(timeout=60)
    assert process.returncode == 9, problem
