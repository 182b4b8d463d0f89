"""The worker for AMUSE: its functions against numpy, and AMUSE itself with Bridge where it is installed."""

import numpy as np
import pytest
from conftest import pulls, rms

import gravitile
from gravitile.amuse import Worker


class Out:
    """What AMUSE passes for a result."""

    value = None


def called(worker, name, *arguments, outputs=0, **named):
    out = [Out() for _ in range(outputs)]
    assert getattr(worker, name)(*arguments, *out, **named) == 0, name
    return [one.value for one in out]


@pytest.fixture
def cluster(sphere):
    """Positions, velocities and masses of total 1."""
    x, v, m = sphere
    return x, 0.3 * v, m / m.sum()


@pytest.fixture
def worker(cluster):
    x, v, m = cluster
    made = Worker()
    made.epsilon_squared, made.timestep = 0.05**2, 0.01
    index = Out()
    assert made.new_particle(index, m, *x.T, *v.T, np.zeros(300)) == 0
    assert (index.value == np.arange(300)).all() and made.commit_particles() == 0
    return made


def energy(worker):
    (kinetic,) = called(worker, "get_kinetic_energy", outputs=1)
    (potential,) = called(worker, "get_potential_energy", outputs=1)
    return kinetic + potential


def test_particles_are_set_read_and_deleted(worker, cluster):
    x, v, m = cluster
    state = called(worker, "get_state", np.array([7, 3]), outputs=8)
    assert (np.stack(state[1:4], axis=1) == x[[7, 3]]).all() and (state[0] == m[[7, 3]]).all()
    assert worker.set_velocity(np.array([3]), np.array([9.0]), np.zeros(1), np.zeros(1)) == 0
    assert called(worker, "get_velocity", np.array([3]), outputs=3)[0] == [9.0]
    assert worker.delete_particle(np.array([3, 299])) == 0
    assert called(worker, "get_number_of_particles", outputs=1) == [298]
    assert worker.get_mass(np.array([3]), Out()) == -1 and worker.delete_particle(np.array([3])) == -1
    assert called(worker, "get_mass", np.array([4]), outputs=1)[0] == m[4]
    # A new one does not take the number of one that is gone.
    index = Out()
    worker.new_particle(index, np.ones(1), *np.ones((6, 1)), radius=0.5)
    assert index.value == [300] and called(worker, "get_radius", np.array([300]), outputs=1) == [0.5]
    seen = called(worker, "get_index_of_first_particle", outputs=1)
    for _ in range(298):
        seen += called(worker, "get_index_of_next_particle", seen[-1], outputs=1)
    assert seen == worker.index.tolist() and worker.get_index_of_next_particle(300, Out()) == -1


def test_gravity_is_numpys(worker, cluster):
    x, _, m = cluster
    acceleration, phi = pulls(x, m, eps=0.05)
    found = np.stack(called(worker, "get_acceleration", np.arange(300), outputs=3), axis=1)
    assert rms(found, acceleration) < 1e-6
    assert rms(called(worker, "get_potential", np.arange(300), outputs=1)[0], phi) < 1e-6
    at = np.array([[3.0, 0, 0], [0, 0.1, 0], [1, 1, 1]])
    # Softened by both lengths.
    right = [pulls(x, m, at=at, eps=eps) for eps in (0.05, np.hypot(0.05, 0.2))]
    eps = np.array([0.0, 0.2, 0.2])
    found = np.stack(called(worker, "get_gravity_at_point", eps, *at.T, outputs=3), axis=1)
    assert rms(found[:1], right[0][0][:1]) < 1e-6 and rms(found[1:], right[1][0][1:]) < 1e-6
    (found,) = called(worker, "get_potential_at_point", np.zeros(3), *at.T, outputs=1)
    assert rms(found, right[0][1]) < 1e-6
    assert energy(worker) == pytest.approx(
        0.5 * (m * (cluster[1] ** 2).sum(axis=1)).sum() + 0.5 * (m * phi).sum(), rel=1e-6
    )
    empty = Worker()
    assert (called(empty, "get_gravity_at_point", np.zeros(3), *at.T, outputs=3)[0] == 0).all()


@pytest.mark.parametrize("integrator", ["leapfrog", "hermite4"])
def test_evolve_model_ends_at_its_time(worker, cluster, integrator):
    worker.integrator = integrator
    before = energy(worker)
    # Numbers that no step divides.
    for end in (0.1234, 0.2468, 0.25):
        assert worker.evolve_model(end) == 0
        assert called(worker, "get_time", outputs=1) == [end]
    peer = gravitile.Simulation(
        gravitile.Bodies(*cluster),
        eps=0.05, dt=0.25 / 500, integrator="leapfrog", method="reference",
    )  # fmt: skip
    peer.step(500)
    apart = np.linalg.norm(worker.position - peer.position, axis=1)
    assert np.median(apart) < (2e-3 if integrator == "leapfrog" else 2e-4)
    assert energy(worker) == pytest.approx(before, rel=1e-3)
    assert worker.evolve_model(0.2) == 0 and worker.time == 0.25
    kicked = worker.velocity + [0.1, 0, 0]
    worker.set_velocity(worker.index, *kicked.T)
    centre = called(worker, "get_center_of_mass_position", outputs=3)[0]
    worker.evolve_model(0.75)
    moved = called(worker, "get_center_of_mass_position", outputs=3)[0] - centre
    drift = (cluster[2][:, None] * kicked).sum(axis=0)[0]
    assert moved == pytest.approx(0.5 * drift, rel=1e-3)


def test_what_fails_is_a_code(worker):
    worker.integrator = "euler"
    assert worker.evolve_model(1.0) == -1 and worker.time == 0.0
    worker.integrator, worker.timestep = "leapfrog", 0.0
    assert worker.evolve_model(0.01) == 0 and worker.time == 0.01


def test_without_amuse_the_code_says_so():
    try:
        import amuse  # noqa: F401
    except ImportError:
        from gravitile.amuse import Gravitile

        with pytest.raises(gravitile.InputError, match="needs AMUSE"):
            Gravitile()


@pytest.mark.long
def test_a_bridge_in_amuse_moves_a_cluster_in_a_galaxy(tmp_path, monkeypatch):
    pytest.importorskip("amuse")
    from amuse.couple.bridge import Bridge
    from amuse.ic.plummer import new_plummer_model
    from amuse.units import nbody_system, units

    from gravitile.amuse import Gravitile

    # AMUSE writes its worker there.
    monkeypatch.chdir(tmp_path)
    converter = nbody_system.nbody_to_si(1000 | units.MSun, 1 | units.parsec)
    stars = new_plummer_model(200, converter)

    def opened():
        code = Gravitile(converter, channel_type="sockets", redirection="none")
        code.parameters.epsilon_squared = (0.05 | units.parsec) ** 2
        code.parameters.timestep = 0.02 | units.Myr
        return code

    code = opened()
    try:
        code.particles.add_particles(stars)
        before = code.kinetic_energy + code.potential_energy
        code.evolve_model(1.0 | units.Myr)
        assert abs(code.model_time - (1.0 | units.Myr)) < (1e-9 | units.Myr)
        now = code.kinetic_energy + code.potential_energy
        assert abs(now / before - 1.0) < 1e-3
        # Far away it is a point of 1000 Msun.
        far = [100.0] | units.parsec
        zero = [0.0] | units.parsec
        pull = code.get_gravity_at_point(zero, far, zero, zero)[0][0]
        right = -units.constants.G * (1000 | units.MSun) / (100 | units.parsec) ** 2
        assert abs(pull / right - 1.0) < 1e-2

        code.particles.remove_particle(code.particles[0])
        code.evolve_model(1.1 | units.Myr)
        assert len(code.particles) == 199
    finally:
        code.stop()

    class Galaxy:
        """A point of 1e10 Msun."""

        def get_gravity_at_point(self, eps, x, y, z):
            gm = units.constants.G * (1e10 | units.MSun)
            r2 = x**2 + y**2 + z**2
            return -gm * x / r2**1.5, -gm * y / r2**1.5, -gm * z / r2**1.5

        def get_potential_at_point(self, eps, x, y, z):
            return -units.constants.G * (1e10 | units.MSun) / (x**2 + y**2 + z**2).sqrt()

    distance = 1.0 | units.kpc
    speed = (units.constants.G * (1e10 | units.MSun) / distance).sqrt()
    stars.x += distance
    stars.vy += speed
    code = opened()
    try:
        code.particles.add_particles(stars)
        bridge = Bridge(use_threading=False)
        bridge.add_system(code, (Galaxy(),))
        bridge.timestep = 0.1 | units.Myr
        bridge.evolve_model(3.0 | units.Myr)
        centre = code.particles.center_of_mass()
        angle = speed * (3.0 | units.Myr) / distance
        right = [distance * np.cos(angle), distance * np.sin(angle)]
        assert all(abs(found - one) < 0.02 * distance for found, one in zip(centre, right)), centre
    finally:
        code.stop()
