"""Simulations: laws of motion, arrays in and out, the same bits again, and REBOUND where it is installed."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import pulls, rms

import gravitile
from gravitile import Bodies, Simulation


def pair():
    """Two bodies of mass 1/2 on a circle of diameter 1: period 2 pi."""
    return Bodies([[-0.5, 0, 0], [0.5, 0, 0]], [[0, -0.5, 0], [0, 0.5, 0]], 0.5)


def small(**settings):
    options = {"eps": 0.05, "dt": 0.01, "integrator": "leapfrog", **settings}
    return Simulation(gravitile.scene("plummer", n=200, seed=1).bodies, **options)


@pytest.mark.parametrize("integrator, error", [("leapfrog", 2e-3), ("hermite4", 1e-4), ("hermite6", 1e-6)])
def test_a_circle_closes_after_its_period(integrator, error):
    simulation = Simulation(pair(), eps=0.0, dt=2 * np.pi / 256, integrator=integrator)
    start = simulation.position.copy()
    simulation.step(256)
    assert simulation.time == pytest.approx(2 * np.pi, rel=1e-12) and simulation.steps == 256
    assert np.abs(simulation.position - start).max() < error


def test_a_leapfrog_is_numpys():
    simulation = small(method="reference")
    bodies = simulation.bodies
    x, v = bodies.position.copy(), bodies.velocity.copy()
    a = pulls(x, bodies.mass, eps=0.05)[0]
    for _ in range(20):
        v += 0.005 * a
        x += 0.01 * v
        a = pulls(x, bodies.mass, eps=0.05)[0]
        v += 0.005 * a
    simulation.step(20)
    assert np.abs(simulation.position - x).max() < 1e-11
    assert np.abs(simulation.velocity - v).max() < 1e-11
    assert np.abs(simulation.acceleration - a).max() < 1e-9


def test_energies_are_numpys():
    simulation = small(method="reference")
    bodies = simulation.bodies
    phi = pulls(bodies.position, bodies.mass, eps=0.05)[1]
    found = simulation.energy()
    drift = (bodies.mass[:, None] * bodies.velocity).sum(axis=0) / bodies.mass.sum()
    kinetic = 0.5 * (bodies.mass * ((bodies.velocity - drift) ** 2).sum(axis=1)).sum()
    assert found.kinetic == pytest.approx(kinetic, rel=1e-12)
    assert found.potential == pytest.approx(0.5 * (bodies.mass * phi).sum(), rel=1e-12)
    assert found.total == pytest.approx(found.kinetic + found.potential) and found.field == 0.0
    spin = np.cross(bodies.position, bodies.velocity)
    assert np.allclose(found.angular_momentum, (bodies.mass[:, None] * spin).sum(axis=0))
    assert np.allclose(simulation.potential, phi)
    radius = simulation.lagrangian_radii([0.5, 1.0])
    assert radius.shape == (2,) and 0 < radius[0] < radius[1]


def test_arrays_are_read_only_until_assigned():
    simulation = small()
    with pytest.raises(ValueError, match="read-only"):
        simulation.position[0] = 1.0
    x = simulation.position + 5.0
    simulation.position = x
    assert (simulation.position == x).all()
    simulation.velocity = np.zeros((200, 3)).tolist()
    simulation.mass = 2.0
    assert (simulation.velocity == 0).all() and (simulation.mass == 2.0).all()
    right = pulls(x, np.full(200, 2.0), eps=0.05)[0]
    assert rms(simulation.acceleration, right) < 1e-5
    before = simulation.bodies
    simulation.step()
    assert (simulation.position != before.position).any() and (before.position == x).all()
    for name, value in [
        ("position", np.zeros((3, 3))),
        ("velocity", np.full((200, 3), np.nan)),
        ("mass", -1.0),
    ]:
        with pytest.raises(gravitile.InputError, match=name):
            setattr(simulation, name, value)


def test_add_and_remove():
    simulation = small()
    simulation.add(Bodies([[9.0, 0, 0], [0, 9, 0]], mass=0.0))
    assert len(simulation) == 202 and len(set(simulation.bodies.id)) == 202
    simulation.step(3)
    gone = simulation.remove(simulation.bodies.mass > 0.0)
    assert len(gone) == 200 and len(simulation) == 2 and simulation.steps == 3
    simulation.step(1)
    # Nothing attracts them any more.
    assert (simulation.acceleration == 0).all()
    with pytest.raises(gravitile.InputError, match="at least 1 must be left"):
        simulation.remove(slice(None))
    with pytest.raises(gravitile.InputError, match="which cannot be an index"):
        simulation.remove(7)
    assert len(simulation) == 2


def test_ways_to_integrate():
    seen = []
    simulation = small()
    simulation.integrate(0.1, every=0.05, callback=lambda now: seen.append(now.time))
    assert seen == pytest.approx([0.05, 0.1])
    assert simulation.integrate(0.1) is None and simulation.steps == 10
    records = list(simulation.integrate(0.2, every=0.04))
    assert [b.time for b in records] == pytest.approx([0.1, 0.14, 0.18, 0.2])
    assert simulation.integrate(0.4, callback=lambda now: False) is None and simulation.steps == 21
    path = simulation.trajectory(0.26, every=0.02, of=[3, 5])
    assert path.shape == (4, 2, 3) and (path[-1] == simulation.position[[3, 5]]).all()
    # Intervals shorter than a step give one record per step.
    assert len(list(simulation.integrate(0.29, every=0.0001))) == 4
    with pytest.raises(gravitile.InputError, match="time steps"):
        simulation.integrate(0.1)
    with pytest.raises(gravitile.InputError, match="every is 0"):
        simulation.integrate(1.0, every=0.0)
    with pytest.raises(gravitile.InputError, match="until is nan"):
        simulation.integrate(np.nan)


def test_progress_is_reported():
    seen = []
    simulation = small()
    simulation.step(30, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (30, 30) and seen == sorted(seen)
    pytest.importorskip("tqdm")
    simulation.step(2, progress=True)
    simulation.integrate(simulation.time + 0.05, every=0.02, callback=lambda _: None, progress=True)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"integrator": "hermite4", "eps": 0.01},
        {"method": "tree"},
        {"engine": "gpu"},
        {"field": "hernquist:mass=2,scale=1"},
    ],
    ids=str,
)
def test_a_saved_simulation_goes_on_to_the_same_bits(tmp_path, settings):
    if settings.get("engine") == "gpu" and not gravitile.adapters():
        pytest.skip("no graphics adapter")
    whole = small(**settings)
    whole.step(4)
    whole.save(tmp_path / "half.gvt")
    again = Simulation.load(tmp_path / "half.gvt")
    assert (again.time, again.steps, len(again)) == (whole.time, whole.steps, len(whole))
    assert repr(again).split(" on ")[0] == repr(whole).split(" on ")[0]
    whole.step(6)
    again.step(6)
    assert again.time == whole.time
    for name in ("position", "velocity", "acceleration"):
        assert (getattr(again, name) == getattr(whole, name)).all(), name
    assert (gravitile.read(tmp_path / "half.gvt").id == whole.bodies.id).all()


def test_files_that_hold_no_simulation(tmp_path):
    gravitile.write(tmp_path / "bodies.gvt", pair())
    with pytest.raises(gravitile.InputError, match="no saved simulation"):
        Simulation.load(tmp_path / "bodies.gvt")
    small().save(tmp_path / "whole.gvt")
    bodies = gravitile.read(tmp_path / "whole.gvt")
    bodies.attributes["simulation"] = "softening = 'far'"
    gravitile.write(tmp_path / "broken.gvt", bodies)
    with pytest.raises(gravitile.InputError, match="settings of the simulation are damaged"):
        Simulation.load(tmp_path / "broken.gvt")


def test_the_field_at_points_is_numpys():
    simulation = small(method="reference", field="hernquist:mass=2,scale=1,x=3")
    bodies = simulation.bodies
    at = np.array([[4.0, 0, 0], [0, 0, 5.0]])
    a, phi = pulls(bodies.position, bodies.mass, at=at, eps=0.05)
    offset = at - [3.0, 0, 0]
    r = np.linalg.norm(offset, axis=1)
    a -= 2 * offset / r[:, None] / (r[:, None] + 1) ** 2
    phi -= 2 / (r + 1)
    found = simulation.field(at)
    assert rms(found[0], a) < 1e-12 and rms(found[1], phi) < 1e-12
    assert simulation.field(np.zeros((0, 3)))[0].shape == (0, 3)


def test_a_body_circles_in_an_external_field():
    # Point mass 1 at the origin: at distance 1 the period is 2 pi.
    body = Bodies([[1.0, 0, 0]], [[0, 1.0, 0]], 0.0)
    simulation = Simulation(
        body, eps=0.0, dt=2 * np.pi / 1000, integrator="leapfrog", field="plummer:mass=1,scale=0.0001"
    )
    simulation.step(1000)
    assert np.abs(simulation.position - [[1.0, 0, 0]]).max() < 1e-3
    with pytest.raises(gravitile.InputError, match="potential"):
        Simulation(body, field="warp:mass=1")


def test_three_bodies_scatter_as_the_literature_says():
    # Szebehely and Peters (1967): masses 3, 4, 5 at rest in a right triangle, E = -769 / 60; the two heavier
    # ones end as a pair, from which the lightest escapes.
    scene = gravitile.scene("pythagorean")
    simulation = Simulation(scene)
    assert simulation.integrator == "hermite6" and simulation.eps == 0.0
    assert simulation.energy().total == pytest.approx(-769 / 60, rel=1e-12)
    simulation.integrate(scene.until)
    assert simulation.energy().total == pytest.approx(-769 / 60, rel=1e-8)
    x = simulation.position[np.argsort(simulation.mass)]
    apart = [np.linalg.norm(x[i] - x[j]) for i, j in ((1, 2), (0, 1), (0, 2))]
    assert apart[0] < 0.2 * apart[1] and apart[0] < 0.2 * apart[2], apart


@pytest.mark.parametrize("method", ["direct", "tree"])
def test_a_force_in_python_is_added(tmp_path, method):
    # A spring to the origin beside hardly any gravity: sin and cos of the period 2 pi / 10.
    def spring(position):
        assert position.shape == (200, 3)
        return -100.0 * position

    bodies = gravitile.scene("plummer", n=200, seed=1).bodies
    options = {"eps": 0.05, "dt": 0.001, "integrator": "leapfrog", "method": method}
    light = Bodies(bodies.position, bodies.velocity, 1e-9)
    whole = Simulation(light, force=spring, **options)
    whole.step(30)
    t = 10 * whole.time
    right = light.position * np.cos(t) + light.velocity * np.sin(t) / 10
    assert np.abs(whole.position - right).max() < 1e-3 * np.abs(light.position).max()
    assert whole.method == method
    whole.save(tmp_path / "a.gvt")
    with pytest.raises(gravitile.InputError, match="saved with a force"):
        Simulation.load(tmp_path / "a.gvt")
    again = Simulation.load(tmp_path / "a.gvt", force=spring)
    whole.step(5)
    again.step(5)
    assert (again.position == whole.position).all() and again.method == method


def test_a_force_in_python_continues_a_tree_to_the_same_bits(tmp_path):
    # Cells are opened by the last accelerations, which the file holds.
    bodies = gravitile.scene("plummer", n=2000, seed=1).bodies
    options = {"eps": 0.05, "dt": 0.01, "integrator": "leapfrog", "method": "tree"}
    whole = Simulation(bodies, force=lambda position: -0.1 * position, **options)
    whole.step(6)
    whole.save(tmp_path / "a.gvt")
    again = Simulation.load(tmp_path / "a.gvt", force=lambda position: -0.1 * position)
    whole.step(5)
    again.step(5)
    assert (again.position == whole.position).all() and (again.velocity == whole.velocity).all()


def test_a_force_that_fails_ends_the_step():
    calls = []

    def fails(position):
        calls.append(len(position))
        if len(calls) > 3:
            raise LookupError("no more")
        return np.zeros_like(position)

    simulation = small(force=fails)
    with pytest.raises(LookupError, match="no more"):
        simulation.step(10)
    assert simulation.steps == 2 and np.isfinite(simulation.position).all()
    with pytest.raises(LookupError):
        small(force=lambda position: {}["none"])
    with pytest.raises(gravitile.InputError, match=r"force has the shape \(3,\)"):
        small(force=lambda position: [1, 2, 3])
    with pytest.raises(gravitile.InputError, match="force is 7"):
        small(force=7)
    with pytest.raises(gravitile.InputError, match="made for hermite4"):
        small(force=np.zeros_like, integrator="hermite4")
    # Nor may it wait for the simulation that waits for it.
    later = []
    waits = small(force=lambda position: later[0].position if later else 0 * position)
    later.append(waits)
    with pytest.raises(gravitile.GravitileError, match="cannot use the simulation"):
        waits.step(5)


@pytest.mark.parametrize("field", [(), "plummer:mass=1,scale=2"], ids=["alone", "in a field"])
def test_the_potential_of_a_force_is_part_of_the_energies(field):
    def pull(position):
        return -2.0 * position

    def phi(position):
        return (position**2).sum(axis=1)

    simulation = small(force=pull, force_potential=phi, field=field, method="reference")
    simulation.velocity = simulation.velocity + [0.3, 0, 0]
    without = small(field=field, method="reference")
    without.velocity = simulation.velocity
    bodies = simulation.bodies
    before, plain = simulation.energy(), without.energy()
    speed2 = (bodies.velocity**2).sum(axis=1)
    inner = 0.5 * pulls(bodies.position, bodies.mass, eps=0.05)[1]
    outer = phi(bodies.position)
    if field:
        outer = outer - 1 / np.sqrt(outer + 4.0)
    right = (bodies.mass * (0.5 * speed2 + inner + outer)).sum()
    assert before.total == pytest.approx(right, rel=1e-12)
    assert before.total == pytest.approx(before.kinetic + before.potential + before.field)
    assert plain.total != pytest.approx(before.total, rel=0.01)
    assert np.allclose(simulation.potential - without.potential, phi(bodies.position))
    simulation.step(20)
    assert simulation.energy().total == pytest.approx(before.total, rel=2e-4)
    at = np.array([[4.0, 0, 0]])
    found, plain = simulation.field(at), small(method="reference", force=pull).field(at)
    assert found[0][0, 0] < plain[0][0, 0] - 7.9 and found[1][0] > plain[1][0] + 15
    with pytest.raises(gravitile.InputError, match="without force"):
        small(force_potential=phi)
    with pytest.raises(gravitile.InputError, match=r"force_potential has the shape \(200, 3\)"):
        small(force=pull, force_potential=pull).energy()


def test_errors_name_arguments_and_not_options(tmp_path):
    with pytest.raises(gravitile.InputError) as error:
        small(devices=2, engine="cpu")
    assert "devices is 2" in str(error.value) and "--" not in str(error.value)
    (tmp_path / "a.csv").write_text("id,m,x,y,z,vx,vy,vz\n-1,1,0,0,0,0,0,0\n2,1,1,0,0,0,0,0\n")
    with pytest.raises(gravitile.InputError) as error:
        gravitile.read(tmp_path / "a.csv")
    assert "renumber=True" in str(error.value) and "--" not in str(error.value)
    # Names of files stay what they are.
    with pytest.raises(FileNotFoundError, match="a--dt.csv"):
        gravitile.read(tmp_path / "a--dt.csv")


def test_units_give_g():
    units = gravitile.Units("kpc", "Msun", "Gyr", 4.498502151469554e-6)
    bodies = Bodies([[0.0, 0, 0], [1, 0, 0]], mass=[1e10, 0.0], units=units)
    simulation = Simulation(bodies, eps=0.0, dt=1e-3, integrator="leapfrog", method="reference")
    assert simulation.g == units.g and simulation.bodies.units == units
    assert simulation.acceleration[1, 0] == pytest.approx(-4.498502151469554e4, rel=1e-12)
    other = Simulation(bodies, eps=0.0, dt=1e-3, g=1.0, integrator="leapfrog")
    assert other.g == 1.0 and other.bodies.units == gravitile.Units()


def test_what_is_not_given_suits_the_bodies():
    scene = gravitile.scene("plummer", n=200, seed=1)
    simulation = Simulation(scene)
    assert (simulation.eps, simulation.dt) == (scene.softening, scene.dt)
    assert (simulation.integrator, simulation.engine, simulation.method) == ("leapfrog", "cpu", "direct")
    alone = Simulation(scene.bodies)
    assert 0.0 < alone.eps < 1.0 and 0.0 < alone.dt < 1.0
    # The Sun and Jupiter are not smoothed.
    planets = Bodies([[0, 0, 0], [1.0, 0, 0]], [[0, 0, 0], [0, 1.0, 0]], [1.0, 1e-3])
    assert (Simulation(planets).eps, Simulation(planets).integrator) == (0.0, "hermite6")
    # Three bodies in a scene keep the settings of the scene.
    assert Simulation(gravitile.scene("figure-eight")).eps == 0.0


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"dt": 0.0}, "time step"),
        ({"dt": np.inf}, "dt is inf"),
        ({"eps": -1.0}, "softening"),
        ({"eta": 0.1}, "eta is 0.1.*left out"),
        ({"integrator": "euler"}, "no integrator named 'euler'"),
        ({"integrator": "hermite4", "dt_max": 0.3}, "power of two"),
        ({"integrator": "hermite4", "method": "tree"}, "tree"),
        ({"devices": 0}, "devices is 0"),
        ({"devices": 2, "engine": "cpu"}, "devices"),
        ({"precision": "half"}, "half"),
    ],
    ids=str,
)
def test_wrong_settings_are_named(settings, words):
    with pytest.raises(gravitile.InputError, match=words):
        small(**settings)
    with pytest.raises(gravitile.InputError, match="n is -1"):
        small().step(-1)
    with pytest.raises(gravitile.InputError, match="n is 0.5"):
        small().step(0.5)


def test_bodies_that_leave_the_range_of_numbers_are_reported():
    simulation = Simulation(pair(), eps=0.0, dt=1e307, integrator="leapfrog")
    with pytest.raises(gravitile.InputError, match="range of numbers|not finite|too far"):
        simulation.step(10_000)


def test_reading_waits_for_the_steps_of_another_thread():
    # Few bodies are read on the calling thread, if no other is at work on them.
    simulation, seen = small(), []
    worker = threading.Thread(target=simulation.step, args=(200,))
    worker.start()
    while worker.is_alive():
        bodies = simulation.bodies
        steps = bodies.time / simulation.dt
        assert steps == pytest.approx(round(steps), abs=1e-6)
        seen.append((bodies.time, simulation.energy().total, simulation.field([[9.0, 0, 0]])[1][0]))
    worker.join()
    assert seen == sorted(seen, key=lambda of: of[0])
    assert all(energy == pytest.approx(seen[0][1], rel=1e-2) for _, energy, _ in seen)


def test_two_simulations_in_two_threads():
    def run(results, k):
        simulation = small()
        simulation.position = simulation.position * (1 + k)
        simulation.step(50)
        results[k] = simulation.position

    alone, together = {}, {}
    for k in (0, 1):
        run(alone, k)
    threads = [threading.Thread(target=run, args=(together, k)) for k in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((alone[k] == together[k]).all() for k in (0, 1))


def test_one_simulation_in_two_threads_takes_all_steps():
    simulation = small()
    threads = [threading.Thread(target=simulation.step, args=(40,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert simulation.time >= 0.0
    for thread in threads:
        thread.join()
    alone = small()
    alone.step(80)
    assert simulation.steps == 80 and (simulation.position == alone.position).all()


def test_a_cluster_moves_as_in_rebound():
    rebound = pytest.importorskip("rebound")
    bodies = gravitile.scene("plummer", n=64, seed=2).bodies
    peer = rebound.Simulation()
    peer.integrator, peer.dt, peer.softening, peer.gravity = "leapfrog", 0.01, 0.1, "basic"
    for m, x, v in zip(bodies.mass, bodies.position, bodies.velocity):
        peer.add(m=m, x=x[0], y=x[1], z=x[2], vx=v[0], vy=v[1], vz=v[2])
    peer.steps(100)
    # REBOUND's leapfrog drifts first, gravitile's kicks first: both are of second order.
    simulation = Simulation(bodies, eps=0.1, dt=0.01, integrator="leapfrog", method="reference")
    energy = simulation.energy().total
    assert energy == pytest.approx(_energy(bodies), rel=1e-12)
    simulation.step(100)
    theirs = np.array([[p.x, p.y, p.z] for p in peer.particles])
    assert np.abs(simulation.position - theirs).max() < 2e-3
    # Individual steps of sixth order against IAS15.
    exact = rebound.Simulation()
    exact.integrator, exact.softening = "ias15", 0.1
    for m, x, v in zip(bodies.mass, bodies.position, bodies.velocity):
        exact.add(m=m, x=x[0], y=x[1], z=x[2], vx=v[0], vy=v[1], vz=v[2])
    exact.integrate(1.0)
    fine = Simulation(bodies, eps=0.1, dt=0.125, integrator="hermite6", eta=0.005)
    fine.integrate(1.0)
    theirs = np.array([[p.x, p.y, p.z] for p in exact.particles])
    assert np.abs(fine.position - theirs).max() < 1e-7


def _energy(bodies):
    phi = pulls(bodies.position, bodies.mass, eps=0.1)[1]
    drift = (bodies.mass[:, None] * bodies.velocity).sum(axis=0) / bodies.mass.sum()
    speed = ((bodies.velocity - drift) ** 2).sum(axis=1)
    return 0.5 * (bodies.mass * (speed + phi)).sum()


WITHOUT_ROOM = """
import resource
import numpy as np
import gravitile
bodies = gravitile.Bodies(np.random.rand(2_000_000, 3), mass=1e-6)
text = open("/proc/self/status").read()
now = int(text.split("VmSize:")[1].split()[0]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (now + 2**26, now + 2**26))
for work in [
    lambda: gravitile.Simulation(bodies, eps=0.1, dt=0.1),
    lambda: gravitile.accelerations(bodies.position, bodies.mass, eps=0.1),
    lambda: gravitile.scene("plummer", n=3_000_000),
    lambda: gravitile.render(bodies),
]:
    try:
        work()
    except MemoryError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="free memory is known on Linux")
def test_too_many_bodies_for_the_memory_are_an_error():
    """An allocation that fails in the compiled part would abort the interpreter."""
    run = subprocess.run([sys.executable, "-c", WITHOUT_ROOM], capture_output=True, text=True)
    lines = run.stdout.splitlines()
    assert run.returncode == 0 and len(lines) == 4, run.stderr
    assert all("memory are free, and each takes" in line for line in lines), lines
