"""N-body gravity on any GPU or on the CPU.

Forces on arrays (:func:`accelerations`, :func:`potential`, :func:`forces`), simulations
(:class:`Simulation`), initial conditions (:func:`scene`), snapshots (:func:`read`, :func:`write`)
and pictures (:func:`render`). Numbers are in the caller's units, with G = 1 unless said otherwise.
"""

import atexit as _atexit

from ._gravitile import __version__
from ._gravitile import end as _end
from ._bodies import Bodies, Units, read, write
from ._devices import Adapter, adapters
from ._errors import DeviceError, GravitileError, InputError
from ._forces import Forces, accelerations, forces, potential
from ._orbits import Orbits, orbits
from ._pictures import Film, Image, render
from ._scenes import Scene, scene, scenes
from ._simulation import Energies, Simulation
from ._tune import Kernel, Tuning, tune
from ._view import view

_atexit.register(_end)

__all__ = [
    "Adapter",
    "Bodies",
    "DeviceError",
    "Energies",
    "Film",
    "Forces",
    "GravitileError",
    "Image",
    "InputError",
    "Kernel",
    "Orbits",
    "Scene",
    "Simulation",
    "Tuning",
    "Units",
    "__version__",
    "accelerations",
    "adapters",
    "forces",
    "orbits",
    "potential",
    "read",
    "render",
    "scene",
    "scenes",
    "tune",
    "view",
    "write",
]
