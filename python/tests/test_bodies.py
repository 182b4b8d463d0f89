"""Bodies and their files; files are read back by other means."""

import pickle

import numpy as np
import pytest

import gravitile
from gravitile import Bodies


def test_arrays_are_shared_if_nothing_has_to_be_converted():
    x = np.random.default_rng(1).normal(size=(5, 3))
    bodies = Bodies(x, mass=2)
    assert np.shares_memory(bodies.position, x)
    bodies.position[0] = 7.0
    assert x[0, 0] == 7.0
    assert (bodies.velocity == 0).all() and (bodies.mass == 2.0).all()
    assert bodies.id.dtype == np.uint64 and bodies.id.tolist() == [0, 1, 2, 3, 4]


def test_parts_of_bodies():
    bodies = gravitile.scene("disk-galaxy", n=300, seed=1).bodies
    assert len(bodies) == 300 and len(bodies[10:20]) == 10 and len(bodies[3]) == 1
    heavy = bodies[bodies.mass > np.median(bodies.mass)]
    assert 0 < len(heavy) < 300 and set(heavy.id) < set(bodies.id)
    name = bodies.components[0][0]
    part = bodies.of(name)
    assert (part.component == 0).all() and (part.id == bodies.id[bodies.component == 0]).all()
    with pytest.raises(gravitile.InputError, match="no component named 'ring'"):
        bodies.of("ring")


def test_bodies_can_be_pickled():
    bodies = gravitile.scene("plummer", n=10).bodies
    bodies.extra["phi"] = np.arange(10, dtype=np.float32)
    again = pickle.loads(pickle.dumps(bodies))
    assert (again.position == bodies.position).all() and again.units == bodies.units
    assert (again.extra["phi"] == bodies.extra["phi"]).all() and repr(again) == repr(bodies)
    assert "<td>10</td>" in bodies._repr_html_()


FORMATS = ["gvt", "hdf5", "bin", "csv", "nemo", "gadget2"]


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_is_written_is_read(tmp_path, suffix):
    bodies = gravitile.scene("plummer", n=50, seed=3).bodies
    # Formats that assume units convert those that have names.
    bodies.units = gravitile.Units()
    path = tmp_path / f"bodies.{suffix}"
    format = {"bin": "tipsy", "nemo": "nemo", "gadget2": "gadget2"}.get(suffix)
    losses = gravitile.write(path, bodies, format=format)
    assert all(isinstance(loss, str) for loss in losses)
    again = gravitile.read(path)
    exact = suffix in ("gvt", "csv")
    assert np.allclose(again.position, bodies.position, rtol=0 if exact else 1e-6, atol=1e-6)
    assert np.allclose(again.velocity, bodies.velocity, rtol=0 if exact else 1e-6, atol=1e-6)
    if exact:
        assert (again.position == bodies.position).all() and (again.id == bodies.id).all()


def test_a_table_written_by_numpy_is_read(tmp_path):
    path = tmp_path / "table.csv"
    rows = np.random.default_rng(1).normal(size=(7, 7))
    rows[:, 0] = np.abs(rows[:, 0])
    np.savetxt(path, rows, delimiter=",", header="m,x,y,z,vx,vy,vz", comments="")
    bodies = gravitile.read(path)
    assert (bodies.mass == rows[:, 0]).all() and (bodies.position == rows[:, 1:4]).all()
    assert (bodies.velocity == rows[:, 4:]).all()


def test_named_units_become_those_that_readers_assume(tmp_path):
    bodies = gravitile.scene("plummer", n=50).bodies
    assert bodies.units.length == "pc"
    gravitile.write(tmp_path / "a.hdf5", bodies)
    again = gravitile.read(tmp_path / "a.hdf5")
    assert again.units.length == "kpc"
    assert np.allclose(again.position * 1000, bodies.position, rtol=1e-6)
    # The same time of a revolution: G m / r^3 in 1 / s^2, by the value of a Gyr and a Myr.
    per_time2 = [b.units.g * b.mass.sum() / b.position.std() ** 3 for b in (bodies, again)]
    myr = [float(bodies.units.time.split()[0]), 1000 * float(again.units.time.split()[0])]
    assert per_time2[0] / myr[0] ** 2 == pytest.approx(per_time2[1] / myr[1] ** 2, rel=1e-3)


def test_a_csv_can_be_read_by_numpy(tmp_path):
    bodies = gravitile.scene("plummer", n=20).bodies
    gravitile.write(tmp_path / "a.csv", bodies)
    lines = (tmp_path / "a.csv").read_text().splitlines()
    head, *rows = (line for line in lines if not line.startswith("#"))
    table = np.loadtxt(rows, delimiter=",")
    assert (table[:, head.split(",").index("x")] == bodies.position[:, 0]).all()


def test_columns_units_and_times_are_kept(tmp_path):
    bodies = Bodies(
        [[0.0, 0, 0], [1, 0, 0]],
        id=np.array([7, 2**63], dtype=np.uint64),
        component=[1, 0],
        components=[("a", "disk"), ("b", "halo")],
        time=2.5,
        units=gravitile.Units("kpc", "1e10 Msun", "Gyr", 4.498502151469554e4),
        attributes={"softening": "0.25"},
        extra={"phi": np.array([1.5, 2.5], dtype=np.float32), "k": np.array([-3, 4])},
    )
    assert gravitile.write(tmp_path / "a.gvt", bodies) == []
    again = gravitile.read(tmp_path / "a.gvt")
    assert again.id.tolist() == [7, 2**63] and again.component.tolist() == [1, 0]
    assert again.components == bodies.components and again.time == 2.5
    assert again.units == bodies.units and again.attributes["softening"] == "0.25"
    assert again.extra["phi"].dtype == np.float32 and again.extra["k"].tolist() == [-3, 4]


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda b: setattr(b, "velocity", b.velocity[:3]), r"velocity has the shape \(3, 3\)"),
        (lambda b: setattr(b, "mass", -b.mass), "at least 0"),
        (lambda b: setattr(b, "id", b.id - 0.5), "id has the type float64"),
        (lambda b: setattr(b, "component", np.full(10, 3)), "component is 3"),
        (lambda b: setattr(b, "components", [("a", "moon")]), "no role of a component named 'moon'"),
        (lambda b: b.extra.update(phi=np.zeros(3)), r"extra\['phi'\] must have the shape \(10,\)"),
        (lambda b: b.extra.update(phi=np.zeros(10, complex)), r"extra\['phi'\] has the type"),
        (lambda b: setattr(b, "time", np.nan), "time is nan"),
        (lambda b: setattr(b, "position", np.zeros((0, 3))), "at least 1 body"),
    ],
)
def test_broken_bodies_are_refused(tmp_path, change, words):
    bodies = gravitile.scene("plummer", n=10).bodies
    change(bodies)
    with pytest.raises(gravitile.InputError, match=words):
        gravitile.write(tmp_path / "a.gvt", bodies)
    assert list(tmp_path.iterdir()) == []


def test_problems_of_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing.gvt"):
        gravitile.read(tmp_path / "nothing.gvt")
    (tmp_path / "empty.gvt").write_bytes(b"")
    with pytest.raises(gravitile.InputError, match="is empty"):
        gravitile.read(tmp_path / "empty.gvt")
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 9)
    with pytest.raises(gravitile.InputError, match="noise.bin"):
        gravitile.read(tmp_path / "noise.bin")
    bodies = gravitile.scene("plummer", n=10).bodies
    with pytest.raises(gravitile.InputError, match="format"):
        gravitile.write(tmp_path / "a.xyzw", bodies)
    with pytest.raises(gravitile.InputError, match="there is no folder"):
        gravitile.write(tmp_path / "no" / "folder" / "a.gvt", bodies)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: gravitile.write("a.gvt", x),
        lambda x: gravitile.render(x),
        lambda x: gravitile.Simulation(x),
        lambda x: gravitile.Simulation(Bodies(x)).add(x),
    ],
)
def test_arrays_are_no_bodies(call):
    with pytest.raises(gravitile.InputError, match="type ndarray, but must be Bodies"):
        call(np.ones((3, 3)))


def test_bodies_at_the_ends_of_the_range_of_numbers():
    x = np.random.default_rng(0).normal(size=(50, 3))
    for scale in (1e-300, 1e-160, 1e160, 1e300):
        for work in (gravitile.Simulation, lambda bodies: gravitile.render(bodies, size=(9, 9))):
            try:
                work(Bodies(x * scale))
            except gravitile.InputError as error:
                assert "internal error" not in str(error)


def test_one_of_several_snapshots_in_a_file(tmp_path):
    parts = []
    for time in (0.0, 1.5):
        bodies = Bodies([[time, 0, 0], [1, 2, 3]], time=time)
        gravitile.write(tmp_path / "one.nemo", bodies, format="nemo")
        parts.append((tmp_path / "one.nemo").read_bytes())
    path = tmp_path / "two.nemo"
    path.write_bytes(b"".join(parts))
    assert gravitile.read(path).time == 0.0 and "notes" in gravitile.read(path).attributes
    for which in (1, "1", "last", "t=1.5"):
        assert gravitile.read(path, snapshot=which).position[0, 0] == 1.5
    for which, words in [("best", "snapshot is best"), (2, "from 0 to 1"), (-1, "snapshot is -1")]:
        with pytest.raises(gravitile.InputError, match=words):
            gravitile.read(path, snapshot=which)


def test_scenes_are_those_of_the_program():
    names = gravitile.scenes()
    assert {"plummer", "galaxy-collision", "figure-eight"} <= set(names) and all(names.values())
    made = gravitile.scene("galaxy-collision", n=500, seed=4)
    assert len(made.bodies) == 500 and made.softening > 0 and made.until > made.dt > 0
    again = gravitile.scene("galaxy-collision", n=500, seed=4)
    other = gravitile.scene("galaxy-collision", n=500, seed=5)
    assert (made.bodies.position == again.bodies.position).all()
    assert (made.bodies.position != other.bodies.position).any()
    # A Plummer sphere in virial equilibrium: half-mass radius 1.305 scale lengths.
    plummer = gravitile.scene("plummer", n=20_000, seed=1)
    radius = np.median(np.linalg.norm(plummer.bodies.position, axis=1))
    scale = plummer.parameters.get("radius", plummer.parameters.get("scale"))
    assert scale is None or abs(radius / scale - 1.305) < 0.05


def test_parameters_of_scenes(tmp_path):
    with pytest.raises(gravitile.InputError, match="did you mean 'plummer'"):
        gravitile.scene("plumer")
    with pytest.raises(gravitile.InputError, match="scene parameter"):
        gravitile.scene("plummer", colour=3)
    with pytest.raises(gravitile.InputError, match="number of bodies"):
        gravitile.scene("plummer", n=10**15)
    with pytest.raises(FileNotFoundError):
        gravitile.scene(tmp_path / "none.toml")
    path = tmp_path / "mine.toml"
    path.write_text("title = 7")
    with pytest.raises(gravitile.InputError, match="mine.toml"):
        gravitile.scene(path)
