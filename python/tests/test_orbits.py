"""Orbital elements, against those that REBOUND makes states of and finds in them."""

import numpy as np
import pytest

import gravitile


def states():
    """REBOUND's orbits of every kind, with their states."""
    import rebound

    random = np.random.default_rng(4)
    found, x, v, m = [], [], [], []
    for k in range(300):
        simulation = rebound.Simulation()
        simulation.add(m=random.uniform(0.5, 3.0))
        e = random.uniform(0.0, 0.98) if k % 3 else random.uniform(1.02, 4.0)
        most = np.pi if e < 1.0 else np.arccos(-1.0 / e) * 0.98
        angles = dict(inc=random.uniform(0.0, np.pi), Omega=random.uniform(0.0, 2.0 * np.pi))
        angles.update(omega=random.uniform(0.0, 2.0 * np.pi), f=random.uniform(-most, most))
        a = random.uniform(0.1, 9.0) * (1.0 if e < 1.0 else -1.0)
        simulation.add(m=random.uniform(0.0, 1.0), a=a, e=e, **angles)
        one, two = simulation.particles[0], simulation.particles[1]
        found.append(two.orbit(primary=one))
        x.append(np.subtract(two.xyz, one.xyz))
        v.append(np.subtract(two.vxyz, one.vxyz))
        m.append(one.m + two.m)
    return found, np.array(x), np.array(v), np.array(m)


def turned(a, b):
    """The difference of two angles in degrees."""
    return np.abs((np.asarray(a) - b + 180.0) % 360.0 - 180.0)


def test_elements_are_those_of_rebound():
    orbits, x, v, m = states()
    for g in (1.0, 43.0):
        found = gravitile.orbits(x, v, m / g, g=g)
        pairs = {"semi_major_axis": "a", "eccentricity": "e", "period": "P"}
        for name, theirs in pairs.items():
            right = np.array([getattr(orbit, theirs) for orbit in orbits])
            bound = np.array([orbit.a > 0.0 for orbit in orbits])
            if name == "period":
                assert np.isinf(found.period[~bound]).all()
                np.testing.assert_allclose(found.period[bound], right[bound], rtol=1e-10)
            else:
                np.testing.assert_allclose(getattr(found, name), right, rtol=1e-10)
        angles = {"inclination": "inc", "node": "Omega", "argument": "omega", "true_anomaly": "f"}
        for name, theirs in angles.items():
            right = np.degrees([getattr(orbit, theirs) for orbit in orbits])
            assert turned(getattr(found, name), right).max() < 1e-7, name
        # REBOUND's mean anomaly of a hyperbola is not turned into a circle here.
        mean = np.degrees([orbit.M for orbit in orbits])
        assert turned(found.mean_anomaly, mean)[bound].max() < 1e-6
        np.testing.assert_allclose(found.pericentre, found.semi_major_axis * (1 - found.eccentricity))


def test_special_orbits():
    root = np.sqrt(2.0)
    found = gravitile.orbits([[1, 0, 0], [0, 2, 0], [3, 0, 0]], [[0, 1, 0], [-1, 0, 0], [0, 0, 0.5]])
    assert found.eccentricity.tolist() == [0.0, 1.0, 0.25]
    assert found.true_anomaly[0] == 0.0 and found.node.tolist() == [0.0, 0.0, 0.0]
    assert found.inclination.tolist() == [0.0, 0.0, 90.0]
    parabola = gravitile.orbits([[1, 0, 0]], [[0, root, 0]], 1.0)
    assert abs(parabola.eccentricity[0] - 1.0) < 1e-15 and abs(parabola.pericentre[0] - 1.0) < 1e-15
    assert len(gravitile.orbits(np.zeros((0, 3)), np.zeros((0, 3))).period) == 0
    for wrong, words in [
        (dict(position=[[1, 0, 0]], velocity=[[1, 0, 0]]), "body 0 moves in a straight line"),
        (dict(position=[[1, 0, 0]], velocity=[[0, 1, 0]], mass=0.0), "mass and g must be above 0"),
        (dict(position=[[1, 0, 0]], velocity=[[0, 1, 0], [0, 1, 0]]), "velocity"),
        (dict(position=[[0, 0, 0]], velocity=[[0, 1, 0]]), "straight line"),
    ]:
        with pytest.raises(gravitile.InputError, match=words):
            gravitile.orbits(**wrong)
