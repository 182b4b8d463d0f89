"""A worker for AMUSE: gravitational dynamics, and gravity at points for Bridge.

>>> from gravitile.amuse import Gravitile                              # doctest: +SKIP
>>> gravity = Gravitile(converter, channel_type="sockets")             # doctest: +SKIP
>>> gravity.parameters.epsilon_squared = (0.05 | units.kpc) ** 2       # doctest: +SKIP
>>> gravity.particles.add_particles(stars)                             # doctest: +SKIP
>>> gravity.evolve_model(10 | units.Myr)                               # doctest: +SKIP

Numbers in the worker are in N-body units, in which G is 1. The code runs in a Python process of its own, which AMUSE
starts: nothing is compiled.
"""

# AMUSE is installed in few environments.
# pyright: reportMissingImports=false

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import Reals
from ._bodies import Bodies
from ._errors import GravitileError, InputError
from ._forces import accelerations, potential
from ._simulation import Simulation

_SAME = 1e-9
"""Times that differ by less, as a part of a step, are equal."""


def _codes(call: Callable[..., None]) -> Callable[..., Any]:
    """Returns 0, or -1 with a line in the worker's output if the call failed, as AMUSE wants it."""

    def coded(self: Worker, *arguments: Any, **named: Any) -> int:
        try:
            call(self, *arguments, **named)
        except (GravitileError, LookupError) as error:
            print(f"gravitile: {call.__name__}: {error}", flush=True)
            return -1
        return 0

    coded.__name__ = call.__name__
    return coded


class Worker:
    """What the worker does, function by function of AMUSE's interface; needs no AMUSE.

    Arguments named as there; results are put into ``value`` of those that return something.
    """

    def __init__(self) -> None:
        self.epsilon_squared = 0.0
        self.timestep = 0.0
        self.begin_time = 0.0
        self.integrator = "leapfrog"
        self.method = "auto"
        self.engine = "auto"
        self.alpha = 0.003
        self.eta = 0.02
        self.time = 0.0
        self.index: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.radius: Reals = np.zeros(0)
        self.position: Reals = np.zeros((0, 3))
        self.velocity: Reals = np.zeros((0, 3))
        self.mass: Reals = np.zeros(0)
        self._next = 0
        # None: to be made from the arrays. Times in it are `_scale` times those outside.
        self._simulation: Simulation | None = None
        self._scale = 1.0

    # Life.

    def initialize_code(self) -> int:
        return 0

    def cleanup_code(self) -> int:
        self._simulation = None
        return 0

    def commit_parameters(self) -> int:
        self.time = self.begin_time
        return 0

    def recommit_parameters(self) -> int:
        self._simulation = None
        return 0

    def commit_particles(self) -> int:
        return 0

    def recommit_particles(self) -> int:
        return 0

    def synchronize_model(self) -> int:
        return 0

    # Particles.

    def _at(self, index: Any) -> NDArray[np.int64]:
        """Rows of particles."""
        wanted = np.asarray(index, dtype=np.int64)
        order = np.argsort(self.index)
        place = np.searchsorted(self.index, wanted, sorter=order)
        if len(order) == 0 or (place >= len(order)).any():
            raise InputError("there is no particle of that index")
        found = order[place]
        if (self.index[found] != wanted).any():
            raise InputError("there is no particle of that index")
        return found

    @_codes
    def new_particle(
        self, index_of_the_particle: Any, mass: Any, x: Any, y: Any, z: Any, vx: Any, vy: Any, vz: Any,
        radius: Any, **_: Any,
    ) -> None:  # fmt: skip
        count = len(mass)
        added = np.arange(self._next, self._next + count)
        self._next += count
        self.index = np.concatenate([self.index, added])
        self.mass = np.concatenate([self.mass, mass])
        self.radius = np.concatenate([self.radius, np.broadcast_to(radius, count)])
        self.position = np.concatenate([self.position, np.stack([x, y, z], axis=1)])
        self.velocity = np.concatenate([self.velocity, np.stack([vx, vy, vz], axis=1)])
        self._simulation = None
        index_of_the_particle.value = added

    @_codes
    def delete_particle(self, index_of_the_particle: Any, **_: Any) -> None:
        stays = np.ones(len(self.index), dtype=bool)
        stays[self._at(index_of_the_particle)] = False
        for name in ("index", "mass", "radius", "position", "velocity"):
            setattr(self, name, getattr(self, name)[stays])
        self._simulation = None

    def _set(self, index: Any, **columns: Any) -> None:
        rows = self._at(index)
        for name, values in columns.items():
            array = getattr(self, name).copy()
            array[rows] = np.stack(values, axis=1) if isinstance(values, tuple) else values
            setattr(self, name, array)
            if self._simulation is not None and name == "velocity":
                self._simulation.velocity = array / self._scale
            elif self._simulation is not None and name != "radius":
                setattr(self._simulation, name, array)

    @_codes
    def set_state(
        self, index_of_the_particle: Any, mass: Any, x: Any, y: Any, z: Any, vx: Any, vy: Any, vz: Any,
        radius: Any, **_: Any,
    ) -> None:  # fmt: skip
        self._simulation = None
        self._set(
            index_of_the_particle,
            mass=mass,
            radius=radius,
            position=(x, y, z),
            velocity=(vx, vy, vz),
        )

    @_codes
    def get_state(
        self, index_of_the_particle: Any, mass: Any, x: Any, y: Any, z: Any, vx: Any, vy: Any, vz: Any,
        radius: Any, **_: Any,
    ) -> None:  # fmt: skip
        rows = self._at(index_of_the_particle)
        mass.value, radius.value = self.mass[rows], self.radius[rows]
        x.value, y.value, z.value = self.position[rows].T
        vx.value, vy.value, vz.value = self.velocity[rows].T

    @_codes
    def set_mass(self, index_of_the_particle: Any, mass: Any, **_: Any) -> None:
        self._set(index_of_the_particle, mass=mass)

    @_codes
    def get_mass(self, index_of_the_particle: Any, mass: Any, **_: Any) -> None:
        mass.value = self.mass[self._at(index_of_the_particle)]

    @_codes
    def set_radius(self, index_of_the_particle: Any, radius: Any, **_: Any) -> None:
        self._set(index_of_the_particle, radius=radius)

    @_codes
    def get_radius(self, index_of_the_particle: Any, radius: Any, **_: Any) -> None:
        radius.value = self.radius[self._at(index_of_the_particle)]

    @_codes
    def set_position(self, index_of_the_particle: Any, x: Any, y: Any, z: Any, **_: Any) -> None:
        self._set(index_of_the_particle, position=(x, y, z))

    @_codes
    def get_position(self, index_of_the_particle: Any, x: Any, y: Any, z: Any, **_: Any) -> None:
        x.value, y.value, z.value = self.position[self._at(index_of_the_particle)].T

    @_codes
    def set_velocity(self, index_of_the_particle: Any, vx: Any, vy: Any, vz: Any, **_: Any) -> None:
        self._set(index_of_the_particle, velocity=(vx, vy, vz))

    @_codes
    def get_velocity(self, index_of_the_particle: Any, vx: Any, vy: Any, vz: Any, **_: Any) -> None:
        vx.value, vy.value, vz.value = self.velocity[self._at(index_of_the_particle)].T

    @_codes
    def get_acceleration(self, index_of_the_particle: Any, ax: Any, ay: Any, az: Any, **_: Any) -> None:
        rows = self._at(index_of_the_particle)
        ax.value, ay.value, az.value = self._pull(None, 0.0)[0][rows].T

    @_codes
    def get_potential(self, index_of_the_particle: Any, potential: Any, **_: Any) -> None:
        potential.value = self._pull(None, 0.0)[1][self._at(index_of_the_particle)]

    def get_number_of_particles(self, number_of_particles: Any) -> int:
        number_of_particles.value = len(self.index)
        return 0

    def get_index_of_first_particle(self, index_of_the_particle: Any) -> int:
        index_of_the_particle.value = int(self.index[0]) if len(self.index) else 0
        return 0 if len(self.index) else 1

    @_codes
    def get_index_of_next_particle(self, index_of_the_particle: Any, index_of_the_next_particle: Any) -> None:
        row = int(self._at(index_of_the_particle)) + 1
        if row >= len(self.index):
            raise InputError("that was the last particle")
        index_of_the_next_particle.value = int(self.index[row])

    # Gravity.

    def _pull(self, at: Reals | None, eps: float) -> tuple[Reals, Reals]:
        """Accelerations and potentials of the particles, or at points that are softened by ``eps``
        too."""
        own = math.sqrt(self.epsilon_squared + eps**2)
        options: dict[str, Any] = {"eps": own, "at": at, "method": self.method, "engine": self.engine}
        return (
            accelerations(self.position, self.mass, **options),
            potential(self.position, self.mass, **options),
        )

    def _pull_at(self, eps: Any, x: Any, y: Any, z: Any) -> tuple[Reals, Reals]:
        at = np.stack([x, y, z], axis=1)
        softening = np.broadcast_to(eps, len(at))
        acceleration, phi = np.zeros((len(at), 3)), np.zeros(len(at))
        for one in np.unique(softening) if len(self.index) else ():
            these = softening == one
            acceleration[these], phi[these] = self._pull(at[these], float(one))
        return acceleration, phi

    @_codes
    def get_gravity_at_point(
        self, eps: Any, x: Any, y: Any, z: Any, ax: Any, ay: Any, az: Any, **_: Any
    ) -> None:
        ax.value, ay.value, az.value = self._pull_at(eps, x, y, z)[0].T

    @_codes
    def get_potential_at_point(self, eps: Any, x: Any, y: Any, z: Any, phi: Any, **_: Any) -> None:
        phi.value = self._pull_at(eps, x, y, z)[1]

    # Time.

    def _prepared(self, interval: float) -> tuple[Simulation, int]:
        """The simulation, and its steps in an interval: all of one length, so that none goes beyond
        its end."""
        longest = self.timestep if self.timestep > 0.0 else None
        now = self._simulation
        if now is not None:
            steps = round(interval * self._scale / now.dt)
            is_whole = abs(steps * now.dt - interval * self._scale) < _SAME * now.dt
            if steps > 0 and is_whole and (longest is None or now.dt <= longest * self._scale * (1 + _SAME)):
                return now, steps
        options: dict[str, Any] = {"integrator": self.integrator, "engine": self.engine}
        options["eps"] = math.sqrt(self.epsilon_squared)
        has_blocks = self.integrator != "leapfrog"
        # Individual steps are powers of two: with the interval as the unit of time it is one.
        self._scale = 1.0 / interval if has_blocks else 1.0
        if has_blocks:
            finest = 0.0 if longest is None else max(0.0, math.ceil(math.log2(interval / longest) - _SAME))
            options["dt"] = options["dt_max"] = 2.0**-finest
            options["eta"] = self.eta
        else:
            options["method"] = self.method
            if self.method != "direct":
                options["alpha"] = self.alpha
            step = longest or self._suited(options)
            options["dt"] = interval / max(1, math.ceil(interval / step - _SAME))
        # Speeds in the unit of time of the simulation, and G, which goes with its square.
        bodies = Bodies(self.position, self.velocity / self._scale, self.mass)
        made = Simulation(bodies, g=1.0 / self._scale**2, **options)
        self._simulation = made
        return made, round(interval * self._scale / made.dt)

    def _suited(self, options: dict[str, Any]) -> float:
        return Simulation(Bodies(self.position, self.velocity, self.mass), **options).dt

    @_codes
    def evolve_model(self, time: float, **_: Any) -> None:
        interval = float(time) - self.time
        if interval <= 0.0 or len(self.index) == 0:
            self.time = max(self.time, float(time))
            return
        simulation, steps = self._prepared(interval)
        try:
            simulation.step(steps)
        except BaseException:
            # The particles stay where they were.
            self._simulation = None
            raise
        now = simulation.bodies
        self.position, self.velocity = now.position, now.velocity * self._scale
        self.time = float(time)

    def get_time(self, time: Any) -> int:
        time.value = self.time
        return 0

    def get_begin_time(self, time: Any) -> int:
        time.value = self.begin_time
        return 0

    def set_begin_time(self, time: float) -> int:
        self.begin_time = self.time = float(time)
        return 0

    # Sums.

    def get_kinetic_energy(self, kinetic_energy: Any) -> int:
        kinetic_energy.value = 0.5 * float((self.mass * (self.velocity**2).sum(axis=1)).sum())
        return 0

    @_codes
    def get_potential_energy(self, potential_energy: Any) -> None:
        phi = self._pull(None, 0.0)[1] if len(self.index) else np.zeros(0)
        potential_energy.value = 0.5 * float((self.mass * phi).sum())

    def get_total_mass(self, mass: Any) -> int:
        mass.value = float(self.mass.sum())
        return 0

    def _mean(self, of: Reals) -> Reals:
        total = float(self.mass.sum())
        mean: Reals = (self.mass[:, None] * of).sum(axis=0) / (total or 1.0)
        return mean

    def get_center_of_mass_position(self, x: Any, y: Any, z: Any) -> int:
        x.value, y.value, z.value = self._mean(self.position)
        return 0

    def get_center_of_mass_velocity(self, vx: Any, vy: Any, vz: Any) -> int:
        vx.value, vy.value, vz.value = self._mean(self.velocity)
        return 0

    def get_total_radius(self, radius: Any) -> int:
        offset = self.position - self._mean(self.position)
        radius.value = float(np.sqrt((offset**2).sum(axis=1)).max(initial=0.0))
        return 0


PARAMETERS = [
    ("epsilon_squared", "float64", "length2", 0.0, "square of the softening length"),
    ("timestep", "float64", "time", 0.0, "longest step; 0: one that suits the particles"),
    ("integrator", "string", None, "leapfrog", "leapfrog, hermite4 or hermite6"),
    ("method", "string", None, "auto", "direct, tree or auto, of the leapfrog"),
    ("engine", "string", None, "auto", "cpu, gpu or auto"),
    ("alpha", "float64", None, 0.003, "accuracy of the tree"),
    ("eta", "float64", None, 0.02, "accuracy of individual steps"),
]
"""Names, types, units and defaults of the parameters, and what they are."""


def _getter(name: str) -> Callable[[Worker, Any], int]:
    def get(self: Worker, value: Any) -> int:
        value.value = getattr(self, name)
        return 0

    return get


def _setter(name: str) -> Callable[[Worker, Any], int]:
    def set(self: Worker, value: Any) -> int:
        setattr(self, name, value)
        return 0

    return set


for _name, *_ in PARAMETERS:
    setattr(Worker, f"get_{_name}", _getter(_name))
    setattr(Worker, f"set_{_name}", _setter(_name))
# The names of older codes.
for _old, _new in (("eps2", "epsilon_squared"), ("time_step", "timestep")):
    setattr(Worker, f"get_{_old}", _getter(_new))
    setattr(Worker, f"set_{_old}", _setter(_new))


try:
    from amuse.community.interface.gd import (
        GravitationalDynamics,
        GravitationalDynamicsInterface,
        GravityFieldCode,
        GravityFieldInterface,
    )
    from amuse.rfi.core import (
        LegacyFunctionSpecification,
        PythonCodeInterface,
        legacy_function,
    )
    from amuse.units import nbody_system
except ImportError as _error:
    _missing = str(_error)

    class Gravitile:
        """The code for AMUSE, which is not installed here."""

        def __init__(self, *_: Any, **__: Any) -> None:
            raise InputError(f"the worker needs AMUSE, but it cannot be imported: {_missing}")

else:

    def _whole(name: str) -> Any:
        """A function of AMUSE's interface, called once with arrays instead of once per particle."""

        def specification() -> Any:
            known = getattr(GravitationalDynamicsInterface, name).specification_function()
            known.must_handle_array, known.can_handle_array = True, False
            if not any(p.direction == known.LENGTH for p in known.parameters):
                known.addParameter("count", dtype="int32", direction=known.LENGTH)
            return known

        specification.__name__ = name
        return legacy_function(specification)

    def _parameter(name: str, kind: str, is_set: bool) -> Any:
        def specification() -> Any:
            made = LegacyFunctionSpecification()
            direction = made.IN if is_set else made.OUT
            made.addParameter("value", dtype=kind, direction=direction)
            made.result_type = "int32"
            return made

        specification.__name__ = f"{'set' if is_set else 'get'}_{name}"
        return legacy_function(specification)

    class GravitileInterface(
        PythonCodeInterface,  # type: ignore[misc]
        GravitationalDynamicsInterface,  # type: ignore[misc]
        GravityFieldInterface,  # type: ignore[misc]
    ):
        """The functions that the worker answers."""

        def __init__(self, **options: Any) -> None:
            PythonCodeInterface.__init__(self, Worker, **options)

        for _name in (
            "new_particle", "delete_particle", "get_state", "set_state", "get_mass", "set_mass", "get_radius",
            "set_radius", "get_position", "set_position", "get_velocity", "set_velocity", "get_acceleration",
            "get_potential",
        ):  # fmt: skip
            locals()[_name] = _whole(_name)
        for _name, _kind, *_ in PARAMETERS:
            locals()[f"get_{_name}"] = _parameter(_name, _kind, False)
            locals()[f"set_{_name}"] = _parameter(_name, _kind, True)

    class Gravitile(GravitationalDynamics, GravityFieldCode):  # type: ignore[misc,no-redef]
        """gravitile as a code of AMUSE.

        Parameters
        ----------
        convert_nbody : nbody_system.nbody_to_si, optional
        **options
            Those of AMUSE's codes: ``channel_type="sockets"``, ``redirection="none"``, ...
        """

        def __init__(self, convert_nbody: Any = None, **options: Any) -> None:
            GravitationalDynamics.__init__(self, GravitileInterface(**options), convert_nbody, **options)

        def define_state(self, handler: Any) -> None:
            GravitationalDynamics.define_state(self, handler)
            GravityFieldCode.define_state(self, handler)
            handler.add_method("RUN", "get_acceleration")

        def define_parameters(self, handler: Any) -> None:
            units = {"length2": nbody_system.length**2, "time": nbody_system.time}
            for name, _, unit, default, about in PARAMETERS:
                value = default if unit is None else default | units[unit]
                handler.add_method_parameter(f"get_{name}", f"set_{name}", name, about, default_value=value)
            handler.add_method_parameter(
                "get_begin_time",
                "set_begin_time",
                "begin_time",
                "time at which the model starts",
                default_value=0.0 | nbody_system.time,
            )

        def define_methods(self, handler: Any) -> None:
            GravitationalDynamics.define_methods(self, handler)
            code = handler.ERROR_CODE
            units = {"length2": nbody_system.length**2, "time": nbody_system.time}
            for name, _, unit, _, _ in PARAMETERS:
                of = handler.NO_UNIT if unit is None else units[unit]
                handler.add_method(f"get_{name}", (), (of, code))
                handler.add_method(f"set_{name}", (of,), (code,))
