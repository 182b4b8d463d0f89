"""Forces of bodies in arrays, at their own places or at any points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _gravitile
from ._arrays import Reals, count_of, masses, number, text, vectors
from ._errors import InputError


def how(
    *,
    method: str = "auto",
    engine: str = "auto",
    adapter: str | None = None,
    alpha: float | None = None,
    theta: float | None = None,
    precision: str | None = None,
    devices: int = 1,
) -> _gravitile.How:
    """The arguments on methods and engines, for the compiled part."""
    return {
        "method": text("method", method),
        "engine": text("engine", engine),
        "adapter": None if adapter is None else text("adapter", adapter),
        "alpha": None if alpha is None else number("alpha", alpha),
        "theta": None if theta is None else number("theta", theta),
        "precision": None if precision is None else text("precision", precision),
        "devices": count_of("devices", devices, 1, 256),
    }


def _softening(eps: float) -> float:
    value = number("eps", eps)
    if value < 0.0:
        raise InputError(f"eps is {value}, but must be at least 0")
    return value


def _gravitating(mass: ArrayLike, count: int, g: float) -> Reals:
    factor = number("g", g)
    if factor < 0.0:
        raise InputError(f"g is {factor}, but must be at least 0")
    found = masses("mass", mass, count)
    return found if factor == 1.0 else found * factor


def _pulls(
    position: ArrayLike,
    mass: ArrayLike,
    eps: float,
    g: float,
    at: ArrayLike | None,
    potential: bool,
    options: _gravitile.How,
) -> tuple[Reals, Reals]:
    places = vectors("position", position)
    points = None if at is None else vectors("at", at)
    gravitating = _gravitating(mass, len(places), g)
    return _gravitile.accelerations(
        places, gravitating, points, _softening(eps), potential, options
    )


def accelerations(
    position: ArrayLike,
    mass: ArrayLike,
    *,
    eps: float = 0.0,
    g: float = 1.0,
    at: ArrayLike | None = None,
    method: str = "auto",
    alpha: float | None = None,
    theta: float | None = None,
    engine: str = "auto",
    adapter: str | None = None,
) -> Reals:
    """Accelerations by the gravity of bodies.

    Parameters
    ----------
    position : array_like, shape (n, 3)
        Positions of the bodies that attract.
    mass : array_like, shape (n,), or one number
        Their masses, at least 0.
    eps : float
        Plummer softening length, at least 0: a body attracts by ``g m r / (r^2 + eps^2)^1.5``.
    g : float
        Gravitational constant in the units of the arguments, at least 0.
    at : array_like, shape (m, 3), optional
        Points at which the accelerations are wanted. A body at the very point attracts nothing.
        By default the bodies themselves, each of which is attracted by all others.
    method : {"auto", "direct", "tree", "reference"}
        All pairs, or a Barnes-Hut tree with quadrupoles; ``"reference"`` is all pairs in f64.
        ``"auto"`` takes the tree for tens of thousands of bodies.
    alpha : float, optional
        Accuracy of the tree, relative to each body's acceleration, above 0 and at most 1. The default
        on the CPU, 0.003, has rms errors of 4e-4.
    theta : float, optional
        Instead of ``alpha``: cells are opened by their angle, at most 1. The default on a graphics
        card, 0.6, has rms errors of 6e-4.
    engine : {"auto", "cpu", "gpu", "reference"}
        Where forces are computed. ``"auto"`` takes a graphics card if there is one.
    adapter : str, optional
        A graphics adapter, by part of its name or its number in :func:`gravitile.adapters`.

    Returns
    -------
    ndarray of float64, shape (n, 3), or (m, 3) with ``at``
        Computed in f32 with f64 totals by the methods ``"direct"`` (rms error 3e-7) and ``"tree"``.

    Raises
    ------
    InputError
        Arrays of other shapes, numbers that are not finite, unknown names.
    DeviceError
        The adapter is missing or failed.

    Examples
    --------
    >>> import gravitile
    >>> gravitile.accelerations([[0, 0, 0], [1, 0, 0]], [1.0, 2.0]).round(6)
    array([[ 2.,  0.,  0.],
           [-1.,  0.,  0.]])
    """
    options = how(method=method, alpha=alpha, theta=theta, engine=engine, adapter=adapter)
    return _pulls(position, mass, eps, g, at, False, options)[0]


def potential(
    position: ArrayLike,
    mass: ArrayLike,
    *,
    eps: float = 0.0,
    g: float = 1.0,
    at: ArrayLike | None = None,
    method: str = "auto",
    alpha: float | None = None,
    theta: float | None = None,
    engine: str = "auto",
    adapter: str | None = None,
) -> Reals:
    """Potentials by the gravity of bodies: the sums of ``-g m / sqrt(r^2 + eps^2)``.

    Parameters
    ----------
    position, mass, eps, g, at, method, alpha, theta, engine, adapter
        As for :func:`accelerations`, with ``theta`` 0.6 by default also on the CPU: errors by
        ``alpha`` have a sign. Without ``at`` a body's own term is left out; with it, a body
        at the very point counts with ``-g m / eps``, or not at all if ``eps`` is 0.

    Returns
    -------
    ndarray of float64, shape (n,), or (m,) with ``at``

    Raises
    ------
    InputError, DeviceError
        As :func:`accelerations`.

    Examples
    --------
    >>> import gravitile
    >>> gravitile.potential([[0, 0, 0], [2, 0, 0]], [1.0, 2.0]).round(6)
    array([-1. , -0.5])
    """
    options = how(method=method, alpha=alpha, theta=theta, engine=engine, adapter=adapter)
    return _pulls(position, mass, eps, g, at, True, options)[1]


@dataclass(frozen=True, eq=False)
class Forces:
    """What :func:`forces` found, one entry per body or point."""

    acceleration: Reals
    """Shape (m, 3)."""
    potential: Reals
    """Shape (m,)."""
    jerk: Reals
    """First time derivative of the acceleration, shape (m, 3)."""
    snap: Reals | None
    """Second time derivative, shape (m, 3), if requested."""
    nearest: NDArray[np.int64]
    """Index of the nearest body, the lowest of equally near ones; -1 if there is none."""
    distance: Reals
    """Its distance without softening; infinite if there is none."""
    neighbours: list[NDArray[np.int64]] | None
    """The indices of all bodies within the radius, ascending, if a radius was given."""


def forces(
    position: ArrayLike,
    velocity: ArrayLike,
    mass: ArrayLike,
    *,
    eps: float = 0.0,
    g: float = 1.0,
    at: ArrayLike | None = None,
    at_velocity: ArrayLike | None = None,
    snap: bool = False,
    radius: ArrayLike | None = None,
    method: str = "auto",
    engine: str = "auto",
    precision: str | None = None,
    adapter: str | None = None,
) -> Forces:
    """Accelerations with time derivatives, potentials and neighbours, over all pairs.

    Parameters
    ----------
    position, velocity : array_like, shape (n, 3)
        Positions and velocities of the bodies that attract.
    mass, eps, g, at, engine, adapter
        As for :func:`accelerations`; ``engine="auto"`` is the CPU in f64.
    at_velocity : array_like, shape (m, 3), optional
        Velocities of the points ``at``; 0 by default.
    snap : bool
        Whether to compute the second derivative, which takes two evaluations more.
    radius : array_like, shape (m,), or one number, optional
        Lists the bodies at this distance or less.
    method : {"auto", "direct", "reference"}
        The tree has no derivatives.
    precision : {"single", "double-single", "double"}, optional
        By default double on the CPU, double-single on a GPU.

    Returns
    -------
    Forces

    Raises
    ------
    InputError, DeviceError
        As :func:`accelerations`.

    Examples
    --------
    >>> import gravitile
    >>> pair = gravitile.forces([[0, 0, 0], [1, 0, 0]], [[0, 0, 0], [0, 1, 0]], 1.0, radius=2.0)
    >>> pair.jerk[0], pair.nearest, pair.neighbours
    (array([0., 1., 0.]), array([1, 0]), [array([1]), array([0])])
    """
    places = vectors("position", position)
    count = len(places)
    speeds = vectors("velocity", velocity, count)
    if at is None:
        if at_velocity is not None:
            raise InputError("at_velocity is given, but must be left out without at")
        points, sinks = None, count
    else:
        where = vectors("at", at)
        sinks = len(where)
        moving = np.zeros((sinks, 3)) if at_velocity is None else at_velocity
        points = (where, vectors("at_velocity", moving, sinks))
    within = None if radius is None else masses("radius", radius, sinks)
    found: dict[str, Any] = dict(
        _gravitile.derivatives(
            places,
            speeds,
            _gravitating(mass, count, g),
            points,
            within,
            snap,
            _softening(eps),
            how(method=method, engine=engine, adapter=adapter, precision=precision),
        )
    )
    return Forces(**found)
