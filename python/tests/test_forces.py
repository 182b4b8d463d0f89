"""Forces on arrays, against direct sums by numpy in float64."""

import threading
import time

import numpy as np
import pytest
from conftest import pulls, rms

import gravitile


@pytest.mark.parametrize("eps, g", [(0.0, 1.0), (0.05, 43007.1)])
def test_accelerations_and_potentials_are_those_of_numpy(sphere, eps, g):
    x, _, m = sphere
    acceleration, potential = pulls(x, m, eps=eps, g=g)
    found = gravitile.accelerations(x, m, eps=eps, g=g)
    assert found.dtype == np.float64 and found.shape == (300, 3) and found.flags.c_contiguous
    assert rms(found, acceleration) < 1e-6
    assert rms(gravitile.potential(x, m, eps=eps, g=g), potential) < 1e-6
    exact = gravitile.accelerations(x, m, eps=eps, g=g, method="reference")
    assert rms(exact, acceleration) < 1e-13


def test_points_other_than_the_bodies(sphere):
    x, _, m = sphere
    at = np.array([[0.0, 0.0, 0.0], [10.0, 0.0, 0.0], x[3]])
    acceleration, potential = pulls(x, m, at=at, eps=0.1)
    assert rms(gravitile.accelerations(x, m, eps=0.1, at=at), acceleration) < 1e-6
    # A body at the very point counts with -m / eps.
    assert rms(gravitile.potential(x, m, eps=0.1, at=at), potential) < 1e-6
    without = gravitile.potential(x, m, at=at[2:], method="reference")
    others = np.delete(np.arange(300), 3)
    assert rms(without, pulls(x[others], m[others], at=at[2:])[1]) < 1e-12


def test_the_tree_is_as_accurate_as_alpha_says():
    random = np.random.default_rng(2)
    x, m = random.normal(size=(2000, 3)), np.full(2000, 1 / 2000)
    right = pulls(x, m, eps=0.02)[0]
    errors = [
        rms(gravitile.accelerations(x, m, eps=0.02, method="tree", alpha=alpha), right)
        for alpha in (0.03, 0.003, 0.0003)
    ]
    assert errors[0] > errors[1] > errors[2] and errors[1] < 2e-3, errors
    by_angle = gravitile.accelerations(x, m, eps=0.02, method="tree", theta=0.5)
    assert 1e-6 < rms(by_angle, right) < 5e-3


def test_a_software_adapter_computes_the_same(sphere):
    x, _, m = sphere
    if not gravitile.adapters():
        pytest.skip("no graphics adapter")
    found = gravitile.accelerations(x, m, eps=0.1, engine="gpu")
    assert rms(found, pulls(x, m, eps=0.1)[0]) < 1e-6
    with pytest.raises(gravitile.DeviceError, match="no such card"):
        gravitile.accelerations(x, m, engine="gpu", adapter="no such card")


def test_any_layout_of_arrays_is_taken(sphere):
    x, _, m = sphere
    right = gravitile.accelerations(x, m, eps=0.1)
    wide = np.zeros((600, 6))
    wide[::2, ::2] = x
    swapped = x.astype(">f8")
    for position in (x.tolist(), np.asfortranarray(x), wide[::2, ::2], swapped):
        assert (gravitile.accelerations(position, m, eps=0.1) == right).all()
    # As numpy reads them from binary files: with other numbers in between, or from an odd byte on.
    records = np.zeros(300, dtype=[("kind", "u1"), ("x", "f8", 3), ("m", "f8")])
    records["x"], records["m"] = x, m
    assert (gravitile.accelerations(records["x"], records["m"], eps=0.1) == right).all()
    odd = np.frombuffer(b"?" + x.tobytes(), dtype=np.float64, offset=1).reshape(300, 3)
    assert (gravitile.accelerations(odd, m, eps=0.1) == right).all()
    narrow = gravitile.accelerations(x.astype(np.float32), m.astype(np.float32), eps=0.1)
    assert narrow.dtype == np.float64 and rms(narrow, right) < 1e-5
    whole = gravitile.accelerations([[0, 0, 0], [2, 0, 0]], 4, method="reference")
    assert (whole == [[1, 0, 0], [-1, 0, 0]]).all()


def test_no_bodies_and_one_body():
    assert gravitile.accelerations(np.zeros((0, 3)), []).shape == (0, 3)
    assert (gravitile.accelerations([[1.0, 2.0, 3.0]], 1.0) == 0.0).all()
    nothing = gravitile.accelerations(np.zeros((0, 3)), [], at=[[1.0, 2.0, 3.0]])
    assert nothing.shape == (1, 3) and (nothing == 0.0).all()
    assert gravitile.potential([[0.0, 0, 0]], 1.0, at=np.zeros((0, 3))).shape == (0,)
    found = gravitile.forces([[1.0, 2.0, 3.0]], [[0.0, 0.0, 0.0]], 1.0, radius=1.0)
    assert found.nearest[0] == -1 and len(found.neighbours[0]) == 0 and found.distance[0] == np.inf


def derivatives(x, v, m, h=1e-4, eps=0.05):
    """Jerk by central differences of accelerations along straight lines."""
    after, before = (pulls(x + s * h * v, m, eps=eps)[0] for s in (1, -1))
    return (after - before) / (2 * h)


def test_jerk_and_snap_are_derivatives(sphere):
    x, v, m = sphere
    found = gravitile.forces(x, v, m, eps=0.05, snap=True)
    acceleration, potential = pulls(x, m, eps=0.05)
    assert rms(found.acceleration, acceleration) < 1e-12
    assert rms(found.potential, potential) < 1e-12
    assert rms(found.jerk, derivatives(x, v, m)) < 1e-4
    # The snap along the bodies' parabolas.
    h = 1e-4
    jerks = []
    for s in (h, -h):
        y, w = x + s * v + 0.5 * s**2 * acceleration, v + s * acceleration
        jerks.append(gravitile.forces(y, w, m, eps=0.05).jerk)
    assert rms(found.snap, (jerks[0] - jerks[1]) / (2 * h)) < 1e-4


def test_derivatives_at_points_that_move(sphere):
    x, v, m = sphere
    at, u = x[:5] + 0.1, v[:5]
    found = gravitile.forces(x, v, m, eps=0.05, at=at, at_velocity=u, snap=True)
    h = 1e-4
    after, before = (pulls(x + s * v, m, at=at + s * u, eps=0.05)[0] for s in (h, -h))
    assert rms(found.jerk, (after - before) / (2 * h)) < 1e-4
    assert found.snap.shape == (5, 3)


def test_neighbours_are_all_listed(sphere):
    x, v, m = sphere
    found = gravitile.forces(x, v, m, radius=1.5)
    distance = np.linalg.norm(x[:, None] - x[None, :], axis=2)
    np.fill_diagonal(distance, np.inf)
    assert (found.nearest == distance.argmin(axis=1)).all()
    assert np.allclose(found.distance, distance.min(axis=1), rtol=1e-12)
    for i, list_of in enumerate(found.neighbours):
        assert (list_of == np.flatnonzero(distance[i] <= 1.5)).all()
    # More than fit into the first attempt.
    assert max(len(list_of) for list_of in found.neighbours) > 64


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda x, m: gravitile.accelerations(x.T, m), r"position has the shape \(3, 300\)"),
        (lambda x, m: gravitile.accelerations(x[0], m), r"position has the shape \(3,\), .* \(n, 3\)"),
        (lambda x, m: gravitile.accelerations(x, m[:7]), r"mass has the shape \(7,\), .* \(300,\)"),
        (lambda x, m: gravitile.accelerations(x, -m), r"mass\[0\] is -.* at least 0"),
        (lambda x, m: gravitile.accelerations(x * np.nan, m), r"position\[0, 0\] is nan"),
        (lambda x, m: gravitile.accelerations(x, m, at=[[0, 0, np.inf]]), r"at\[0, 2\] is inf"),
        (lambda x, m: gravitile.accelerations(x + 1j, m), "position has the type complex128"),
        (lambda x, m: gravitile.accelerations([["1", "2", "3"]], 1.0), "position has the type"),
        (lambda x, m: gravitile.accelerations([[1, 2], [3]], 1.0), "position is no array"),
        (lambda x, m: gravitile.accelerations(np.ma.masked_less(x, 0), m), "masked"),
        (lambda x, m: gravitile.accelerations(None, m), "position has the type object"),
        (lambda x, m: gravitile.accelerations(x, m, eps=-1), "eps is -1"),
        (lambda x, m: gravitile.accelerations(x, m, eps=[1, 2]), "eps has the shape"),
        (lambda x, m: gravitile.accelerations(x, m, g=np.nan), "g is nan"),
        (lambda x, m: gravitile.accelerations(x, m, method=3), "method is 3, but must be a text"),
        (lambda x, m: gravitile.accelerations(x, m, method="warp"), "no method named 'warp'"),
        (lambda x, m: gravitile.accelerations(x, m, engine="warp"), "no engine named 'warp'"),
        (lambda x, m: gravitile.accelerations(x, m, method="tree", alpha=0), "alpha is 0"),
        (lambda x, m: gravitile.accelerations(x, m, method="direct", alpha=0.1), "alpha is 0.1"),
        (lambda x, m: gravitile.accelerations(x, m, alpha=0.1, theta=0.5), "theta is 0.5"),
        (lambda x, m: gravitile.forces(x, x[:3], m), r"velocity has the shape \(3, 3\)"),
        (lambda x, m: gravitile.forces(x, x, m, radius=-1), r"radius\[0\] is -1"),
        (lambda x, m: gravitile.forces(x, x, m, at_velocity=x), "at_velocity is given"),
        (lambda x, m: gravitile.forces(x, x, m, precision="half"), "'half'"),
        (lambda x, m: gravitile.forces(x, x, m, method="tree"), "the method is tree"),
    ],
)
def test_wrong_arguments_are_named(sphere, call, words):
    x, _, m = sphere
    with pytest.raises(gravitile.InputError, match=words) as raised:
        call(x, m)
    assert isinstance(raised.value, ValueError) and isinstance(raised.value, RuntimeError)
    assert "\n" not in str(raised.value)


def test_units_are_not_dropped_silently(sphere):
    class Quantity(np.ndarray):
        unit = "kpc"

    with pytest.raises(gravitile.InputError, match="position has the unit kpc"):
        gravitile.accelerations(sphere[0].view(Quantity), 1.0)


def test_numbers_beyond_f32_are_refused_or_right(sphere):
    x, _, m = sphere
    # The frame scales: far from the range of f32, but of one size.
    right = gravitile.accelerations(x, m)
    far = gravitile.accelerations(x * 1e150, m * 1e200)
    assert rms(far * 1e100, right) < 1e-5


def test_other_threads_run_meanwhile():
    random = np.random.default_rng(3)
    x = random.normal(size=(12000, 3))
    turns, done = [0], threading.Event()

    def work():
        gravitile.accelerations(x, 1.0, method="reference")
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        turns[0] += 1
        time.sleep(0.0005)
    thread.join()
    assert turns[0] > 1


def test_threads_get_what_they_asked_for(sphere):
    x, _, m = sphere
    results = {}

    def work(k):
        results[k] = [gravitile.accelerations(x * k, m, eps=0.1) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, found in results.items():
        right = gravitile.accelerations(x * k, m, eps=0.1)
        assert all((one == right).all() for one in found)
