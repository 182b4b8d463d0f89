"""Bodies, and their files."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _gravitile
from ._arrays import Reals, count_of, masses, number, plain, text, vectors, whole
from ._errors import InputError

if TYPE_CHECKING:
    from ._pictures import Image
    from ._widget import View


@dataclass(frozen=True)
class Units:
    """Names of the units of a snapshot, and the gravitational constant in them."""

    length: str = ""
    """For example ``"kpc"``; empty for N-body units."""
    mass: str = ""
    time: str = ""
    g: float = 1.0


class Bodies:
    """N bodies as arrays, with the time and the units of their snapshot.

    The arrays may be changed in place and replaced; they are checked where they are used.

    Parameters
    ----------
    position : array_like, shape (n, 3)
        Quantities of astropy are accepted for ``position``, ``velocity`` and ``mass``; G is then
        Newton's constant in their units.
    velocity : array_like, shape (n, 3), optional
        0 by default.
    mass : array_like, shape (n,), or one number
        At least 0; a body without mass is attracted but does not attract.
    id : array_like of int, shape (n,), optional
        0 to n - 1 by default.
    component : array_like of int, shape (n,), optional
        Index into ``components``.
    components : sequence of (name, role), optional
        The groups of the bodies, at most 256. Roles are ``"star"``, ``"disk"``, ``"bulge"``, ``"halo"``
        and ``"gas"``.
    time : float
    units : Units, optional
        N-body units, in which G is 1, by default.
    attributes : mapping of str to str, optional
        Facts that snapshots hold: ``softening``, ``redshift``, ...
    extra : mapping of str to array, optional
        Further columns, one number per body.

    Raises
    ------
    InputError
        Arrays of other shapes; numbers that are not finite.

    Examples
    --------
    >>> import gravitile
    >>> gravitile.Bodies([[0, 0, 0], [1, 0, 0]], mass=[1, 2])
    Bodies(n=2, mass=3, time=0)
    """

    __slots__ = (
        "position",
        "velocity",
        "mass",
        "id",
        "component",
        "components",
        "time",
        "units",
        "attributes",
        "extra",
    )

    position: Reals
    velocity: Reals
    mass: Reals
    id: NDArray[np.uint64]
    component: NDArray[np.uint8]
    components: list[tuple[str, str]]
    time: float
    units: Units
    attributes: dict[str, str]
    extra: dict[str, NDArray[Any]]

    def __init__(
        self,
        position: ArrayLike,
        velocity: ArrayLike | None = None,
        mass: ArrayLike = 1.0,
        *,
        id: ArrayLike | None = None,
        component: ArrayLike | None = None,
        components: Sequence[tuple[str, str]] | None = None,
        time: float = 0.0,
        units: Units | None = None,
        attributes: Mapping[str, str] | None = None,
        extra: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        if any(getattr(one, "unit", None) is not None for one in (position, velocity, mass)):
            from ._convert import plain_numbers

            position, velocity, mass, named = plain_numbers(position, velocity, mass)
            if units is not None and units != named:
                raise InputError("units must be left out if the arguments have units")
            units = named
        self.position = vectors("position", position)
        n = len(self.position)
        self.velocity = (
            np.zeros((n, 3)) if velocity is None else vectors("velocity", velocity, n)
        )
        self.mass = masses("mass", mass, n)
        numbers = np.arange(n, dtype=np.uint64) if id is None else whole("id", id, n, 2**64 - 1)
        self.id = plain(numbers, np.uint64)
        groups = np.zeros(n, dtype=np.uint8)
        if component is not None:
            groups = plain(whole("component", component, n, 255), np.uint8)
        self.component = groups
        self.components = [("bodies", "star")] if components is None else list(components)
        self.time = number("time", time)
        self.units = Units() if units is None else units
        self.attributes = dict(attributes or {})
        self.extra = dict(extra or {})

    @classmethod
    def _of(cls, fields: Mapping[str, Any]) -> Bodies:
        bodies = cls.__new__(cls)
        for name, value in fields.items():
            setattr(bodies, name, value)
        bodies.units = Units(*fields["units"])
        return bodies

    def _fields(self) -> _gravitile.Fields:
        """What the compiled part takes, checked."""
        position = vectors("position", self.position)
        n = len(position)
        if n == 0:
            raise InputError("position has the shape (0, 3), but there must be at least 1 body")
        for name, role in self.components:
            if not (isinstance(name, str) and isinstance(role, str)):
                raise InputError("components must be pairs of texts: a name and a role")
        units = self.units
        extra = {}
        for name, column in self.extra.items():
            kept = np.asarray(column)
            if kept.dtype not in (np.float64, np.float32, np.uint64, np.uint32, np.int64):
                raise InputError(
                    f"extra['{name}'] has the type {kept.dtype}, but must have one of float64, "
                    "float32, uint64, uint32, int64"
                )
            if kept.shape != (n,):
                raise InputError(f"extra['{name}'] must have the shape ({n},), one per body")
            extra[name] = plain(kept, kept.dtype)
        return {
            "position": position,
            "velocity": vectors("velocity", self.velocity, n),
            "mass": masses("mass", self.mass, n),
            "id": plain(whole("id", self.id, n, 2**64 - 1), np.uint64),
            "component": plain(whole("component", self.component, n, 255), np.uint8),
            "components": [(name, role) for name, role in self.components],
            "time": number("time", self.time),
            "units": (units.length, units.mass, units.time, number("units.g", units.g)),
            "attributes": {str(key): str(value) for key, value in self.attributes.items()},
            "extra": extra,
        }

    def __len__(self) -> int:
        return len(self.position)

    def __getitem__(self, which: Any) -> Bodies:
        """Some of the bodies: a slice, a mask or indices; their arrays are copies."""
        if isinstance(which, (int, np.integer)):
            which = [which]
        n = len(self)
        columns = {name: np.asarray(column) for name, column in self.extra.items()}
        return Bodies._of(
            {
                "position": np.array(self.position[which]),
                "velocity": np.array(self.velocity[which]),
                "mass": np.array(self.mass[which]),
                "id": np.array(self.id[which]),
                "component": np.array(self.component[which]),
                "components": list(self.components),
                "time": self.time,
                "units": (self.units.length, self.units.mass, self.units.time, self.units.g),
                "attributes": dict(self.attributes),
                "extra": {
                    name: np.array(column[which]) if len(column) == n else column
                    for name, column in columns.items()
                },
            }
        )

    def of(self, component: str) -> Bodies:
        """The bodies of one component, by its name.

        Raises
        ------
        InputError
            No component has that name.
        """
        names = [name for name, _ in self.components]
        if component not in names:
            known = ", ".join(names)
            raise InputError(
                f"there is no component named '{component}'; those known are: {known}"
            )
        return self[self.component == names.index(component)]

    def to_pynbody(self) -> Any:
        """The bodies as a snapshot of pynbody, with units if they have names: halos as ``dm``, gas
        as ``gas``, everything else as ``star``, with ``iord`` and ``component``.

        Raises
        ------
        InputError
            pynbody is not installed; names that are no units.
        """
        from ._convert import to_pynbody

        return to_pynbody(self)

    @classmethod
    def from_pynbody(cls, snap: Any) -> Bodies:
        """Bodies of a snapshot of pynbody, one component per family, in its units; G is Newton's
        constant in these, or 1 if it has none."""
        from ._convert import from_pynbody

        return from_pynbody(snap)

    def to_yt(self, **options: Any) -> Any:
        """The bodies as a data set of yt; ``options`` are those of ``yt.load_particles``.

        Raises
        ------
        InputError
            yt is not installed; names that are no units.
        """
        from ._convert import to_yt

        return to_yt(self, **options)

    def to_astropy(self) -> Any:
        """The bodies as a ``QTable`` of astropy: ``id``, ``component``, ``mass``, ``position``,
        ``velocity`` and further columns, with units if they have names.

        Raises
        ------
        InputError
            astropy is not installed; names that are no units.
        """
        from ._convert import to_astropy

        return to_astropy(self)

    @classmethod
    def from_astropy(cls, table: Any) -> Bodies:
        """Bodies of a table of astropy with the columns of :meth:`to_astropy`, or with ``x``,
        ``y``, ``z``, ``vx``, ``vy``, ``vz``; all but the positions may be missing."""
        from ._convert import from_astropy

        return from_astropy(table)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        total = float(np.sum(self.mass))
        return f"Bodies(n={len(self)}, mass={total:g}, time={self.time:g})"

    def _repr_html_(self) -> str:
        rows = []
        for index, (name, role) in enumerate(self.components):
            members = self.component == index
            if members.any():
                cells = (html.escape(name), html.escape(role), int(members.sum()))
                total = float(self.mass[members].sum())
                rows.append(
                    "<tr>" + "".join(f"<td>{cell}</td>" for cell in (*cells, f"{total:g}")) + "</tr>"
                )
        head = "".join(f"<th>{name}</th>" for name in ("component", "role", "bodies", "mass"))
        return f"<table><tr>{head}</tr>{''.join(rows)}</table>"

    def render(self, **look: Any) -> Image:
        """A picture; the arguments are those of :func:`gravitile.render`."""
        from ._pictures import render

        return render(self, **look)

    def view(self, **options: Any) -> View:
        """Shows the bodies in a notebook, to be turned by mouse; the arguments are those of
        :func:`gravitile.view`."""
        from ._view import view

        return view(self, **options)

    def _repr_png_(self) -> bytes:
        return self.render(size=(640, 360)).png


def fields_of(bodies: Bodies) -> _gravitile.Fields:
    """The fields of bodies, checked."""
    if not isinstance(bodies, Bodies):
        raise InputError(f"bodies is of the type {type(bodies).__name__}, but must be Bodies")
    return bodies._fields()


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    renumber: bool = False,
    snapshot: int | str | None = None,
) -> Bodies:
    """Reads a snapshot: gravitile's own, tipsy, GADGET, HDF5, NEMO, CSV and tables.

    Parameters
    ----------
    path : str or path
        Of a snapshot in several files, any of them or the name without the number.
    format : str, optional
        As ``gravitile formats`` lists them, whatever the file looks like.
    renumber : bool
        Whether to number the bodies from 0 instead of reading their ids.
    snapshot : int or str, optional
        Which of several in a file, as NEMO's may hold: its number from 0, ``"t=2.5"`` or ``"last"``; by
        default the first, as NEMO's programs do.

    Returns
    -------
    Bodies
        With the reader's notes, if it assumed anything, in ``attributes["notes"]``.

    Raises
    ------
    InputError
        Not a snapshot, or a damaged one.
    FileNotFoundError
        There is no such file.

    Examples
    --------
    >>> import gravitile, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "two.csv")
    >>> gravitile.write(path, gravitile.Bodies([[0, 0, 0], [1, 0, 0]]))
    []
    >>> gravitile.read(path)
    Bodies(n=2, mass=2, time=0)
    """
    fields, notes = _gravitile.read(
        os.fsdecode(path),
        None if format is None else text("format", format),
        bool(renumber),
        None if snapshot is None else str(snapshot),
    )
    bodies = Bodies._of(fields)
    if notes:
        bodies.attributes["notes"] = "; ".join(notes)
    return bodies


def write(
    path: str | os.PathLike[str],
    bodies: Bodies,
    *,
    format: str | None = None,
    files: int | None = None,
) -> list[str]:
    """Writes a snapshot; a file of that name is replaced when all is written.

    Parameters
    ----------
    path : str or path
        Its extension decides on the format: ``.gvt``, ``.hdf5``, ``.bin`` (tipsy), ``.csv``, ...
    bodies : Bodies
    format : str, optional
        As ``gravitile formats`` lists them, with modifiers: ``"gadget2-f64"``.
    files : int, optional
        Number of files, for formats that can be spread.

    Returns
    -------
    list of str
        What the format cannot hold; empty if it holds all.

    Raises
    ------
    InputError
        An unknown format, or bodies that cannot be written in it.
    OSError
        The file cannot be written.
    """
    fields = fields_of(bodies)
    # Made by `read`, and never written.
    fields["attributes"].pop("notes", None)
    kind = None if format is None else text("format", format)
    parts = None if files is None else count_of("files", files, 1)
    return _gravitile.write(os.fsdecode(path), fields, kind, parts)
