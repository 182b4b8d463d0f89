"""Bodies to and from pynbody, yt and astropy, where these are installed. Long: their imports alone take seconds."""

import numpy as np
import pytest

import gravitile
from gravitile import Bodies

pytestmark = pytest.mark.long

UNITS = gravitile.Units("kpc", "1e10 Msun", "0.5 Gyr", 1.12462553786738986e4)


@pytest.fixture
def galaxy():
    bodies = gravitile.scene("disk-galaxy", n=300, seed=1).bodies
    bodies.components = [("disk", "disk"), ("halo", "halo")]
    bodies.component = (np.arange(300) % 2).astype(np.uint8)
    bodies.units, bodies.time = UNITS, 2.0
    return bodies


def in_order(bodies):
    return bodies[np.argsort(bodies.id)]


def same_bodies(back, bodies, rtol=1e-12):
    back = in_order(back)
    assert (back.id == bodies.id).all() and back.time == pytest.approx(bodies.time)
    names = [[name for name, _ in of.components] for of in (back, bodies)]
    for name in ("position", "velocity", "mass"):
        assert np.allclose(getattr(back, name), getattr(bodies, name), rtol=rtol, atol=0), name
    return names


def per_second2(bodies):
    """G M / r^3 in SI, from the unit of time alone."""
    time, name = bodies.units.time.split()
    seconds = float(time) * {"Gyr": 3.15576e16, "Myr": 3.15576e13, "yr": 3.15576e7, "s": 1.0}[name]
    return bodies.units.g * bodies.mass.sum() / bodies.position.std() ** 3 / seconds**2


def test_pynbody_and_back(galaxy):
    pynbody = pytest.importorskip("pynbody")
    snap = galaxy.to_pynbody()
    assert len(snap.dm) == 150 and len(snap.star) == 150 and len(snap.gas) == 0
    disk = galaxy.of("disk")
    assert np.allclose(snap.star["pos"].in_units("pc"), disk.position * 1000)
    speed = disk.velocity * 3.0856775814913673e16 / (0.5 * 3.15576e16)
    assert np.allclose(snap.star["vel"].in_units("km s**-1"), speed, rtol=1e-4)
    assert np.allclose(snap.dm["mass"].in_units("Msol").sum(), galaxy.of("halo").mass.sum() * 1e10)
    assert float(snap.properties["time"].in_units("Gyr")) == pytest.approx(1.0)
    back = Bodies.from_pynbody(snap)
    assert dict(back.components) == {"dm": "halo", "star": "star"}
    same_bodies(back, galaxy)
    assert back.units.length == "kpc" and per_second2(back) == pytest.approx(per_second2(galaxy), rel=1e-3)
    # Units of h and a, as GADGET's files have, and none.
    snap["pos"].units = "kpc a h**-1"
    snap.properties.update(a=0.5, h=0.7)
    assert _gravitile_si(Bodies.from_pynbody(snap).units.length) == pytest.approx(3.0857e19 / 1.4, rel=1e-4)
    plain = Bodies(galaxy.position, galaxy.velocity, galaxy.mass)
    again = Bodies.from_pynbody(plain.to_pynbody())
    assert again.units == gravitile.Units() and (again.position == plain.position).all()
    assert pynbody.analysis.halo.center(galaxy.to_pynbody(), mode="com", return_cen=True).shape == (3,)


def _gravitile_si(text):
    from gravitile._gravitile import unit_si

    return unit_si("length", text)


def test_yt_reads_bodies(galaxy):
    yt = pytest.importorskip("yt")
    yt.set_log_level(50)
    data = galaxy.to_yt().all_data()
    order = np.argsort(data["io", "particle_index"].v)
    x = data["io", "particle_position"].to("kpc").v[order]
    assert np.allclose(x, galaxy.position, rtol=1e-6)
    speed = data["io", "particle_velocity"].to("kpc/Gyr").v[order]
    assert np.allclose(speed, galaxy.velocity / 0.5, rtol=1e-5)
    assert float(data["io", "particle_mass"].sum().to("Msun")) == pytest.approx(1e10 * galaxy.mass.sum(), rel=1e-3)
    assert float(data.ds.current_time.to("Gyr")) == pytest.approx(1.0, rel=1e-4)
    assert len(Bodies([[1.0, 2, 3]]).to_yt().all_data()["io", "particle_mass"]) == 1


def test_astropy_tables_and_back(galaxy):
    pytest.importorskip("astropy")
    from astropy import units as u
    from astropy.table import Table

    galaxy.extra["phi"] = np.arange(300, dtype=np.float32)
    table = galaxy.to_astropy()
    assert table["position"].unit == u.kpc and np.allclose(table["position"].value, galaxy.position)
    assert table["mass"].to_value(u.Msun).sum() == pytest.approx(1e10 * galaxy.mass.sum())
    assert table.meta["time"].to_value(u.Gyr) == pytest.approx(1.0)
    assert set(table["component"]) == {"disk", "halo"}
    back = Bodies.from_astropy(table)
    assert same_bodies(back, galaxy)[0] == ["disk", "halo"] and back.components == galaxy.components
    assert (back.extra["phi"] == galaxy.extra["phi"]).all()
    assert per_second2(back) == pytest.approx(per_second2(galaxy), rel=1e-3)
    # A table of one's own, with columns of numbers.
    own = Table({"x": [0.0, 1.0], "y": [0, 0], "z": [0, 2], "m": [1, 2]})
    bodies = Bodies.from_astropy(own)
    assert bodies.position.tolist() == [[0, 0, 0], [1, 0, 2]] and bodies.units == gravitile.Units()
    assert bodies.extra["m"].tolist() == [1, 2]
    own["x"].unit, own["y"].unit, own["z"].unit = "pc", "pc", "kpc"
    own["mass"] = [1.0, 3.0] * u.kg
    bodies = Bodies.from_astropy(own)
    assert bodies.position.tolist() == [[0, 0, 0], [1, 0, 2000]] and bodies.units.length == "pc"
    with pytest.raises(gravitile.InputError, match="position"):
        Bodies.from_astropy(Table({"a": [1]}))


def test_quantities_of_astropy_set_the_units():
    pytest.importorskip("astropy")
    from astropy import units as u
    from astropy.constants import G

    x = [[0.0, 0, 0], [1, 0, 0]] * u.au
    bodies = Bodies(x, [[0, 0, 0], [0, 29.78, 0]] * u.km / u.s, [1.0, 3e-6] * u.Msun)
    assert bodies.units.length.endswith(("au", "AU")) and bodies.velocity[1, 1] == 29.78
    time = float(bodies.units.time.split()[0]) * u.Unit(bodies.units.time.split()[1])
    assert bodies.units.g == pytest.approx(G.to_value(u.au**3 / u.Msun / time**2), rel=2e-4)
    # A year of steps ends where it began.
    orbit = gravitile.Simulation(bodies, eps=0.0, dt=(1 * u.yr / time).to_value("") / 1000, integrator="leapfrog")
    orbit.step(1000)
    assert np.allclose(orbit.position[1], bodies.position[1], atol=0.01)
    at_rest = Bodies(x, mass=[1.0, 1.0] * u.kg)
    assert at_rest.units.g == pytest.approx(1.0)
    for arguments, words in [
        ((x, None, 1.0), "mass has no unit"),
        ((x, [[0, 0, 0]] * 2 * u.kg, [1, 1] * u.kg), "velocity has the unit kg"),
        (([[0, 0, 0]], None, [1.0] * u.kg), "position has no unit"),
    ]:
        with pytest.raises(gravitile.InputError, match=words):
            Bodies(*arguments)


def test_names_that_are_no_units_are_refused(galaxy):
    pytest.importorskip("astropy")
    galaxy.units = gravitile.Units("cubits", "Msun", "Gyr")
    with pytest.raises(gravitile.InputError, match="units.length is 'cubits'"):
        galaxy.to_astropy()
