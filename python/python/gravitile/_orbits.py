"""Orbital elements of positions and velocities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import Reals, masses, vectors
from ._errors import InputError


@dataclass(frozen=True, eq=False)
class Orbits:
    """Elements of Kepler orbits, as scene files have them; angles in degrees, shape (n,) each."""

    semi_major_axis: Reals
    """Negative for a hyperbola, infinite for a parabola."""
    pericentre: Reals
    """The smallest distance."""
    eccentricity: Reals
    inclination: Reals
    """0 to 180, from the xy plane."""
    node: Reals
    """Longitude of the ascending node, 0 to 360; 0 for an orbit in the xy plane."""
    argument: Reals
    """Of the pericentre, from the ascending node, 0 to 360; 0 for a circle."""
    true_anomaly: Reals
    """-180 to 180."""
    mean_anomaly: Reals
    """-180 to 180; of a hyperbola e sinh H - H in degrees; NaN of a parabola."""
    period: Reals
    """Infinite if the orbit is not bound."""


def orbits(position: ArrayLike, velocity: ArrayLike, mass: ArrayLike = 1.0, *, g: float = 1.0) -> Orbits:
    """Orbital elements of bodies relative to the body, or the centre of mass, that they orbit.

    The inverse of a scene file's orbits (Murray and Dermott 1999, section 2.8).

    Parameters
    ----------
    position, velocity : array_like, shape (n, 3)
        Relative to what is orbited.
    mass : array_like, shape (n,), or one number
        The mass of both together, above 0.
    g : float
        The gravitational constant.

    Returns
    -------
    Orbits

    Raises
    ------
    InputError
        Arrays of other shapes; a mass of 0; a body that moves along its position or not at all, whose
        orbit is a straight line.

    Examples
    --------
    >>> import gravitile
    >>> found = gravitile.orbits([[1, 0, 0]], [[0, 1.2, 0]])
    >>> float(found.eccentricity[0].round(6)), float(found.pericentre[0])
    (0.44, 1.0)
    """
    x = vectors("position", position)
    n = len(x)
    v = vectors("velocity", velocity, n)
    mu = g * masses("mass", mass, n)
    if not (mu > 0.0).all():
        raise InputError("mass and g must be above 0")
    r = np.linalg.norm(x, axis=1)
    h = np.cross(x, v)
    spin = np.linalg.norm(h, axis=1)
    if not (spin > 0.0).all():
        line = int(np.flatnonzero(~(spin > 0.0))[0])
        raise InputError(f"body {line} moves in a straight line, which has no orbital elements")
    up = h / spin[:, None]
    # Towards the pericentre, as long as the eccentricity.
    towards = np.cross(v, h) / mu[:, None] - x / r[:, None]
    e = np.linalg.norm(towards, axis=1)
    parameter = spin**2 / mu
    pericentre = parameter / (1.0 + e)
    inverse = 2.0 / r - (v**2).sum(axis=1) / mu
    # What rounding leaves of a parabola must agree with its eccentricity.
    inverse = np.where(np.sign(inverse) == np.sign(1.0 - e), inverse, (1.0 - e) / pericentre)
    flat = np.hypot(h[:, 0], h[:, 1])
    node = np.where(flat > 0.0, np.arctan2(h[:, 0], -h[:, 1]), 0.0)
    ascending = np.stack([np.cos(node), np.sin(node), np.zeros(n)], axis=1)
    ahead = np.cross(up, ascending)

    def angle(of: Reals) -> Reals:
        """The angle from the ascending node."""
        found: Reals = np.arctan2((of * ahead).sum(axis=1), (of * ascending).sum(axis=1))
        return found

    argument = np.where(e > 0.0, angle(towards), 0.0)
    true = np.remainder(angle(x) - argument + np.pi, 2.0 * np.pi) - np.pi
    with np.errstate(all="ignore"):
        axis = 1.0 / inverse
        root = np.sqrt(np.abs((1.0 - e) / (1.0 + e))) * np.tan(true / 2.0)
        eccentric = 2.0 * np.arctan(root)
        hyperbolic = 2.0 * np.arctanh(root)
        ellipse = eccentric - e * np.sin(eccentric)
        mean = np.where(e < 1.0, ellipse, e * np.sinh(hyperbolic) - hyperbolic)
        mean = np.where(e == 1.0, np.nan, mean)
        period = np.where(inverse > 0.0, 2.0 * np.pi * np.sqrt(np.abs(axis) ** 3 / mu), np.inf)
    return Orbits(
        semi_major_axis=axis,
        pericentre=pericentre,
        eccentricity=e,
        inclination=np.degrees(np.arctan2(flat, h[:, 2])),
        node=np.degrees(node) % 360.0,
        argument=np.degrees(argument) % 360.0,
        true_anomaly=np.degrees(true),
        mean_anomaly=np.degrees(mean),
        period=period,
    )
