"""Initial conditions."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from . import _gravitile
from ._arrays import count_of, number
from ._bodies import Bodies


@dataclasses.dataclass(frozen=True)
class Scene:
    """Bodies with settings that suit them; :class:`gravitile.Simulation` takes both."""

    name: str
    title: str
    about: str
    bodies: Bodies
    softening: float
    """Plummer softening length."""
    dt: float
    """Step of the leapfrog."""
    until: float
    """The time at which its run ends."""
    field: list[str]
    """External potentials."""
    parameters: dict[str, float]
    """The values of all parameters of the scene."""
    hints: dict[str, str | float | None] = dataclasses.field(repr=False)
    """Integrator, eta, eta6, dt_max and precision, where the scene names them."""

    def __repr__(self) -> str:
        return f"Scene({self.name!r}, {self.bodies!r})"


def scenes() -> dict[str, str]:
    """The scenes that come with the package: their names, and what there is to see.

    Examples
    --------
    >>> import gravitile
    >>> "plummer" in gravitile.scenes()
    True
    """
    return {name: f"{title}. {about}".strip() for name, title, about in _gravitile.scene_names()}


def scene(
    name: str | os.PathLike[str],
    *,
    n: int | None = None,
    seed: int | None = None,
    **parameters: float,
) -> Scene:
    """Makes the bodies of a scene.

    Parameters
    ----------
    name : str or path
        One of :func:`scenes`, or the path of a scene file, which ends in ``.toml``.
    n : int, optional
        Number of bodies.
    seed : int, optional
        Of all random numbers; equal seeds give equal bits on every machine.
    **parameters : float
        The scene's own, as ``gravitile scenes NAME`` lists them. Those of a scene in parts have
        names such as ``1.n``: pass ``**{"1.n": 1000}``.

    Returns
    -------
    Scene

    Raises
    ------
    InputError
        An unknown name, or a value out of range.

    Examples
    --------
    >>> import gravitile
    >>> gravitile.scene("plummer", n=100, seed=1)
    Scene('plummer', Bodies(n=100, mass=1, time=0))
    """
    path = os.fsdecode(name)
    toml = (Path(path).read_text(encoding="utf-8"), path) if path.endswith(".toml") else None
    values = [(key, number(key, value)) for key, value in parameters.items()]
    made = _gravitile.scene(
        path,
        toml,
        None if n is None else count_of("n", n, 1),
        None if seed is None else count_of("seed", seed, 0, 2**64 - 1),
        values,
    )
    hints = ("integrator", "eta", "eta6", "dt_max", "precision")
    return Scene(
        name=made["name"],
        title=made["title"],
        about=made["about"],
        bodies=Bodies._of(made["bodies"]),
        softening=made["softening"],
        dt=made["dt"],
        until=made["until"],
        field=made["field"],
        parameters=dict(made["parameters"]),
        hints={key: made[key] for key in hints},  # type: ignore[literal-required]
    )
