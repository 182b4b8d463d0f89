"""Bodies to and from pynbody, yt and astropy, each of which is imported only where it is used."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from . import _gravitile
from ._bodies import Bodies, Units
from ._errors import InputError

_NEWTON = 6.67430e-11
"""Newton's constant in m^3 / (kg s^2), CODATA 2018."""
_COLUMNS = ("float64", "float32", "uint64", "uint32", "int64")
"""Types of further columns."""
_TIMES = [("Gyr", 3.15576e16), ("Myr", 3.15576e13), ("yr", 3.15576e7), ("s", 1.0)]


def _module(name: str) -> Any:
    """A module of a package that is not required; what types it has differs by its version."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise InputError(f"{package} is needed, but cannot be imported: {error}") from None


def si_of(units: Units) -> tuple[float, float, float] | None:
    """Metres, kilograms and seconds of the units; None for N-body units.

    Raises InputError for names that are no units.
    """
    names = {"length": units.length, "mass": units.mass, "time": units.time}
    if not any(names.values()):
        return None
    found = []
    for kind, name in names.items():
        value = _gravitile.unit_si(kind, name)
        if value is None:
            raise InputError(f"units.{kind} is '{name}', but must be a unit of {kind} such as 3.5 kpc")
        found.append(value)
    length, mass, time = found
    return length, mass, time


def _named(kind: str, text: str, si: float) -> str:
    """The text if it names a unit of that value, else the value in the SI unit."""
    known = _gravitile.unit_si(kind, text)
    if known is not None and abs(known / si - 1.0) < 1e-6:
        return text
    return f"{si!r} {'m' if kind == 'length' else 'kg'}"


def units_of(length: tuple[str, float], mass: tuple[str, float], velocity_si: float) -> Units:
    """Units by names and SI values of length and mass, and the SI value of velocity."""
    time = length[1] / velocity_si
    name, worth = next((one for one in _TIMES if time >= 0.5 * one[1]), _TIMES[-1])
    return Units(
        _named("length", *length),
        _named("mass", *mass),
        f"{time / worth!r} {name}",
        _NEWTON * mass[1] * time**2 / length[1] ** 3,
    )


def to_pynbody(bodies: Bodies) -> Any:
    """See :meth:`gravitile.Bodies.to_pynbody`."""
    pynbody = _module("pynbody")
    fields = bodies._fields()
    roles = np.array([role for _, role in bodies.components])[fields["component"]]
    families = {
        "dm": np.flatnonzero(roles == "halo"),
        "star": np.flatnonzero((roles != "halo") & (roles != "gas")),
        "gas": np.flatnonzero(roles == "gas"),
    }
    snap = pynbody.new(**{name: len(of) for name, of in families.items()})
    for name in ("iord", "component"):
        snap._create_array(name, dtype=np.int64)
    columns: dict[str, Any] = {"pos": fields["position"], "vel": fields["velocity"], "mass": fields["mass"]}
    columns.update({"iord": fields["id"].view(np.int64), "component": fields["component"]})
    for name, of in families.items():
        if len(of):
            for column, all_values in columns.items():
                snap[getattr(pynbody.family, name)][column] = all_values[of]
    values = si_of(bodies.units)
    if values is not None:

        def unit(text: str, si: float, base: str) -> Any:
            try:
                return pynbody.units.Unit(text.replace("Msun", "Msol"))
            except (KeyError, ValueError):
                return pynbody.units.Unit(f"{si!r} {base}")

        length = unit(bodies.units.length, values[0], "m")
        mass = unit(bodies.units.mass, values[1], "kg")
        time = unit(bodies.units.time, values[2], "s")
        snap["pos"].units, snap["mass"].units, snap["vel"].units = length, mass, length / time
        snap.properties["time"] = bodies.time * time
    else:
        snap.properties["time"] = bodies.time
    return snap


def from_pynbody(snap: Any) -> Bodies:
    """See :meth:`gravitile.Bodies.from_pynbody`."""
    pynbody = _module("pynbody")
    context = snap.conversion_context()

    def si(name: str, base: str) -> tuple[str, float]:
        unit = snap[name].units
        return str(unit), float(unit.in_units(base, **context))

    roles = {"dm": "halo", "star": "star", "gas": "gas"}
    families = snap.families()
    component = np.zeros(len(snap), dtype=np.uint8)
    for index, family in enumerate(families):
        component[snap._get_family_slice(family)] = index
    try:
        units = units_of(si("pos", "m"), si("mass", "kg"), si("vel", "m s**-1")[1])
    except pynbody.units.UnitsException:
        units = Units()
    time = snap.properties.get("time", 0.0)
    if not isinstance(time, (int, float)):
        has_units = units != Units()
        try:
            worth = _gravitile.unit_si("time", units.time) if has_units else None
            time = float(time.in_units("s", **context)) / worth if worth else 0.0
        except (AttributeError, pynbody.units.UnitsException):
            time = 0.0
    ids = None
    if "iord" in snap.loadable_keys() or "iord" in snap.keys():
        ids = np.asarray(snap["iord"]).astype(np.int64).view(np.uint64)
    return Bodies(
        np.array(snap["pos"], dtype=np.float64),
        np.array(snap["vel"], dtype=np.float64),
        np.array(snap["mass"], dtype=np.float64),
        id=ids,
        component=component,
        components=[(family.name, roles.get(family.name, "star")) for family in families],
        time=float(time),
        units=units,
    )


def to_yt(bodies: Bodies, **options: Any) -> Any:
    """See :meth:`gravitile.Bodies.to_yt`."""
    yt = _module("yt")
    fields = bodies._fields()
    data: dict[str, Any] = {"particle_mass": fields["mass"], "particle_index": fields["id"]}
    for axis, name in enumerate("xyz"):
        data[f"particle_position_{name}"] = fields["position"][:, axis]
        data[f"particle_velocity_{name}"] = fields["velocity"][:, axis]
    low, high = fields["position"].min(axis=0), fields["position"].max(axis=0)
    # Bodies on the edge of yt's box would lie outside.
    edge = 1e-3 * float((high - low).max() or 1.0)
    values = si_of(bodies.units)
    units: dict[str, Any] = {}
    if values is not None:
        length, mass, time = values
        units = {
            "length_unit": (length, "m"),
            "mass_unit": (mass, "kg"),
            "time_unit": (time, "s"),
            "velocity_unit": (length / time, "m/s"),
        }
    box = np.stack([low - edge, high + edge], axis=1)
    return yt.load_particles(data, **{"bbox": box, "sim_time": bodies.time, **units, **options})


def to_astropy(bodies: Bodies) -> Any:
    """See :meth:`gravitile.Bodies.to_astropy`."""
    u, table = _module("astropy.units"), _module("astropy.table").QTable()
    fields = bodies._fields()
    table["id"] = fields["id"]
    table["component"] = np.array([name for name, _ in bodies.components])[fields["component"]]
    columns: dict[str, Any] = {
        "mass": fields["mass"], "position": fields["position"], "velocity": fields["velocity"],
    }  # fmt: skip
    values = si_of(bodies.units)
    if values is not None:

        def unit(text: str, si: float, base: Any) -> Any:
            try:
                found = u.Unit(text)
            except ValueError:
                return u.Unit(si * base)
            return found if abs(found.to(base) / si - 1.0) < 1e-3 else u.Unit(si * base)

        length = unit(bodies.units.length, values[0], u.m)
        mass = unit(bodies.units.mass, values[1], u.kg)
        time = unit(bodies.units.time, values[2], u.s)
        of = {"mass": mass, "position": length, "velocity": length / time}
        columns = {name: column * of[name] for name, column in columns.items()}
        table.meta["time"] = bodies.time * time
    else:
        table.meta["time"] = bodies.time
    for name, column in {**columns, **fields["extra"]}.items():
        table[name] = column
    table.meta["components"] = [list(one) for one in bodies.components]
    return table


def from_astropy(table: Any) -> Bodies:
    """See :meth:`gravitile.Bodies.from_astropy`."""
    names = table.colnames

    def column(name: str, parts: tuple[str, str, str]) -> Any:
        if name in names:
            return _quantity(table[name])
        if all(part in names for part in parts):
            stacked = [_quantity(table[part]) for part in parts]
            unit = getattr(stacked[0], "unit", None)
            if unit is None:
                return np.stack(stacked, axis=1)
            return np.stack([one.to_value(unit) for one in stacked], axis=1) * unit
        return None

    position = column("position", ("x", "y", "z"))
    if position is None:
        raise InputError("the table must have a column position of shape (n, 3), or x, y and z")
    velocity = column("velocity", ("vx", "vy", "vz"))
    mass = _quantity(table["mass"]) if "mass" in names else 1.0
    used = {"id", "component", "mass", "position", "velocity", "x", "y", "z", "vx", "vy", "vz"}
    extra = {
        name: np.asarray(table[name])
        for name in names
        if name not in used and np.asarray(table[name]).dtype.name in _COLUMNS and table[name].ndim == 1
    }
    component, components = None, None
    if "component" in names:
        groups = np.asarray(table["component"]).astype(str)
        roles = dict(table.meta.get("components", []))
        known = list(roles) or sorted(set(groups))
        known += sorted(set(groups) - set(known))
        component = np.array([known.index(group) for group in groups])
        components = [(name, roles.get(name, "star")) for name in known]
    bodies = Bodies(
        position,
        velocity,
        mass,
        id=np.asarray(table["id"]) if "id" in names else None,
        component=component,
        components=components,
        extra=extra,
    )
    time = table.meta.get("time", 0.0)
    if hasattr(time, "unit"):
        worth = _gravitile.unit_si("time", bodies.units.time)
        time = time.to_value("s") / worth if worth else 0.0
    bodies.time = float(time)
    return bodies


def _quantity(column: Any) -> Any:
    """A column as a quantity if it has a unit, else as an array."""
    if getattr(column, "unit", None) is None:
        return np.asarray(column)
    return column.quantity if hasattr(column, "quantity") else column


def plain_numbers(position: Any, velocity: Any, mass: Any) -> tuple[Any, Any, Any, Units]:
    """Quantities of astropy as numbers, and their units.

    Raises InputError if only some have units, or if one has that of something else.
    """
    wanted = {"position": "m", "velocity": "m / s", "mass": "kg"}
    given = {"position": position, "velocity": velocity, "mass": mass}
    values, found = {}, {}
    for name, value in given.items():
        unit = getattr(value, "unit", None)
        if value is None:
            continue
        if unit is None:
            raise InputError(f"{name} has no unit, but must have one if another argument has")
        try:
            found[name] = (str(unit), float(unit.to(wanted[name])))
        except Exception as error:
            kind = "length" if name == "position" else name
            raise InputError(f"{name} has the unit {unit}, but must have one of {kind}: {error}") from None
        values[name] = value.to_value(unit)
    if "position" not in found or "mass" not in found:
        missing = "mass" if "position" in found else "position"
        raise InputError(f"{missing} has no unit, but must have one if another argument has")
    # Without velocities any unit of time will do: that in which G is 1.
    length, kilograms = found["position"][1], found["mass"][1]
    speed = found["velocity"][1] if "velocity" in found else (_NEWTON * kilograms / length) ** 0.5
    units = units_of(found["position"], found["mass"], speed)
    return values["position"], values.get("velocity"), values["mass"], units
