"""Simulations."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike

from . import _gravitile
from ._arrays import Reals, count_of, masses, number, numbers, text, vectors
from ._bodies import Bodies, fields_of
from ._errors import InputError
from ._forces import how
from ._pictures import Film, Image, Progress, look
from ._scenes import Scene

if TYPE_CHECKING:
    from ._widget import View


@dataclass(frozen=True, eq=False)
class Energies:
    """Energies and momenta of a simulation at one time."""

    kinetic: float
    """Relative to the centre of mass."""
    potential: float
    """Of the bodies on each other, softened."""
    field: float
    """In the external field and by ``force_potential``, with the motion of the centre of mass; 0
    without either."""
    total: float
    virial_ratio: float
    """2 T / abs(W): 1 in equilibrium."""
    momentum: Reals
    angular_momentum: Reals
    """About the origin."""
    centre: Reals
    """Centre of mass."""
    drift: Reals
    """Its velocity."""
    half_mass_radius: float
    """Around the centre of mass."""


class _Progress:
    """Reports to nobody, to a function, or to a bar of tqdm."""

    def __init__(self, wanted: Progress, total: int, unit: str = "steps") -> None:
        self.total = total
        self.bar: Any = None
        self.call: Callable[[int, int], object] | None = None
        if callable(wanted):
            self.call = wanted
        elif wanted:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                raise InputError(
                    "progress is True, but tqdm is not installed: pass a function of (done, total)"
                ) from None
            self.bar = tqdm(total=total, unit=unit)

    @property
    def tick(self) -> Callable[[int], None] | None:
        return self.report if self.bar is not None or self.call is not None else None

    def report(self, done: int) -> None:
        if self.bar is not None:
            self.bar.update(done - self.bar.n)
        if self.call is not None:
            self.call(done, self.total)

    def __enter__(self) -> _Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            self.bar.close()


class Simulation:
    """Bodies that move under their gravity.

    Parameters
    ----------
    bodies : Bodies or Scene
        A scene also supplies the settings that are not given here.
    eps : float, optional
        Plummer softening length. By default that of the scene or the snapshot's attribute
        ``softening``, else the distance to the eighth neighbour where bodies are dense.
    dt : float, optional
        Time step. By default that of the scene or the attribute ``dt``, else one in which fast
        bodies cross a quarter of ``eps``.
    integrator : {"leapfrog", "hermite4", "hermite6"}, optional
        The leapfrog has one step for all bodies, the Hermite schemes individual ones. Few bodies of
        which one dominates or some are close pairs take ``"hermite6"`` without softening if nothing
        is given.
    eta, eta6 : float, optional
        Accuracy of individual steps, 0.01 to 0.02 in the literature.
    dt_max : float, optional
        The longest individual step, a power of two.
    g : float, optional
        Gravitational constant; by default that of the bodies' units.
    field : str or sequence of str
        External potentials, as the program's ``--field`` takes them:
        ``"hernquist:mass=2,scale=1"``.
    method, alpha, theta, engine, adapter
        As for :func:`gravitile.accelerations`, but ``alpha`` is 0.003 by default: steps have the
        accelerations of the last one.
    precision : {"single", "double-single", "double"}, optional
    devices : int
        Number of graphics cards.
    force : callable, optional
        Called with the positions, shape (n, 3), once per step of the leapfrog; returns accelerations
        to add, of the same shape. It cannot use the simulation. What it raises ends the step.
    force_potential : callable, optional
        The potential of ``force`` per unit of mass, at points of shape (m, 3); returns shape (m,).
        Both are then evaluated at any points: energies, :attr:`potential` and :meth:`field` include
        them. Without it they leave ``force`` out.

    Raises
    ------
    InputError
        Bodies or settings out of range.
    DeviceError
        The adapter is missing or failed.

    Examples
    --------
    >>> import gravitile
    >>> simulation = gravitile.Simulation(gravitile.scene("plummer", n=100, seed=1), dt=0.01)
    >>> before = simulation.energy().total
    >>> simulation.step(10)
    >>> simulation.time, abs(simulation.energy().total / before - 1) < 1e-4
    (0.1, True)
    """

    _engine: _gravitile.Engine
    _force: Callable[[Reals], Reals] | None
    _force_potential: Callable[[Reals], Reals] | None
    _read: tuple[int, Bodies] | None

    def __init__(
        self,
        bodies: Bodies | Scene,
        *,
        eps: float | None = None,
        dt: float | None = None,
        integrator: str | None = None,
        eta: float | None = None,
        eta6: float | None = None,
        dt_max: float | None = None,
        g: float | None = None,
        field: str | Sequence[str] = (),
        method: str = "auto",
        alpha: float | None = None,
        theta: float | None = None,
        engine: str = "auto",
        adapter: str | None = None,
        precision: str | None = None,
        devices: int = 1,
        force: Callable[[Reals], ArrayLike] | None = None,
        force_potential: Callable[[Reals], ArrayLike] | None = None,
    ) -> None:
        scene = bodies if isinstance(bodies, Scene) else None
        own = bodies.bodies if isinstance(bodies, Scene) else bodies
        fields = fields_of(own)
        potentials = field.split() if isinstance(field, str) else list(field)
        if scene is not None:
            hints = scene.hints
            eps = scene.softening if eps is None else eps
            # As in the program: four steps of the leapfrog, rounded down to a power of two.
            longest = 2.0 ** math.floor(math.log2(4.0 * scene.dt)) if dt is None else None
            dt = scene.dt if dt is None else dt
            potentials = potentials or scene.field
            # Forces of a tree have no derivatives.
            if integrator is None and method not in ("tree",) and hints["integrator"] is not None:
                integrator = str(hints["integrator"])
                eta, eta6, dt_max = (
                    _hint(given, hints[name])
                    for given, name in ((eta, "eta"), (eta6, "eta6"), (dt_max, "dt_max"))
                )
                dt_max = longest if dt_max is None else dt_max
                if precision is None and hints["precision"] is not None:
                    precision = str(hints["precision"])
        else:
            facts = own.attributes
            eps = _attribute(facts, "softening") if eps is None else eps
            dt = _attribute(facts, "dt") if dt is None else dt
            potentials = potentials or facts.get("field", "").split()
            integrator = facts.get("integrator") if integrator is None else integrator
        optional = {"eps": eps, "dt": dt, "eta": eta, "eta6": eta6, "dt_max": dt_max, "g": g}
        request: _gravitile.Request = {
            **{  # type: ignore[typeddict-item]
                name: None if value is None else number(name, value)
                for name, value in optional.items()
            },
            "integrator": None if integrator is None else text("integrator", integrator),
            "field": [str(one) for one in potentials],
            "how": how(
                method=method,
                engine=engine,
                adapter=adapter,
                alpha=alpha,
                theta=theta,
                precision=precision,
                devices=devices,
            ),
        }
        self._set_force(force, force_potential)
        self._engine = _gravitile.Engine(fields, request, self._force)
        self._read = None

    def _set_force(
        self,
        force: Callable[[Reals], ArrayLike] | None,
        force_potential: Callable[[Reals], ArrayLike] | None,
    ) -> None:
        if force_potential is not None and force is None:
            raise InputError("force_potential is given, but must be left out without force")
        for name, given in (("force", force), ("force_potential", force_potential)):
            if given is not None and not callable(given):
                raise InputError(f"{name} is {given!r}, but must be a function of positions")
        self._force = self._force_potential = None
        if force is not None:
            self._force = lambda position: vectors("force", force(position), len(position))
        if force_potential is not None:
            self._force_potential = lambda position: numbers(
                "force_potential", force_potential(position), len(position)
            )

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        force: Callable[[Reals], ArrayLike] | None = None,
        force_potential: Callable[[Reals], ArrayLike] | None = None,
    ) -> Simulation:
        """The simulation that :meth:`save` wrote; it continues to the same bits, with the same
        ``force`` if it had one.

        Raises
        ------
        InputError
            The file holds no simulation, or is damaged.
        """
        simulation = cls.__new__(cls)
        simulation._set_force(force, force_potential)
        simulation._engine = _gravitile.Engine.load(os.fsdecode(path), simulation._force)
        simulation._read = None
        return simulation

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the bodies and all settings to a file in gravitile's own format (``.gvt``), which
        every program that reads this format can read, too."""
        self._engine.save(os.fsdecode(path), self._force is not None)

    @property
    def time(self) -> float:
        """Simulated time."""
        return self._engine.clock()[0]

    @property
    def steps(self) -> int:
        """Steps since the beginning."""
        return self._engine.clock()[1]

    @property
    def dt(self) -> float:
        """The time step."""
        return self._engine.facts()["dt"]

    @property
    def eps(self) -> float:
        """The softening length."""
        return self._engine.facts()["eps"]

    @property
    def g(self) -> float:
        """The gravitational constant."""
        return self._engine.facts()["g"]

    @property
    def integrator(self) -> str:
        """Name of the integrator."""
        return self._engine.facts()["integrator"]

    @property
    def engine(self) -> str:
        """Name of the engine that computes the forces: ``"cpu"``, ``"gpu"`` or ``"reference"``."""
        return self._engine.facts()["engine"]

    @property
    def method(self) -> str:
        """Name of the method."""
        return self._engine.facts()["method"]

    @property
    def because(self) -> str:
        """Why this engine and this method were chosen."""
        return self._engine.facts()["because"]

    def __len__(self) -> int:
        return self._engine.facts()["n"]

    @property
    def bodies(self) -> Bodies:
        """The bodies now, in arrays of their own."""
        return Bodies._of(self._engine.bodies())

    def _now(self) -> Bodies:
        """The bodies now, read once per step; their arrays cannot be written to, since nothing
        would come of it."""
        steps = self.steps
        if self._read is None or self._read[0] != steps:
            bodies = Bodies._of(self._engine.bodies())
            for array in (bodies.position, bodies.velocity, bodies.mass, bodies.id):
                array.flags.writeable = False
            self._read = (steps, bodies)
        return self._read[1]

    @property
    def position(self) -> Reals:
        """Positions, shape (n, 3), read-only; assigned, the simulation continues from there."""
        return self._now().position

    @position.setter
    def position(self, value: ArrayLike) -> None:
        self._change(vectors("position", value, len(self)), None, None)

    @property
    def velocity(self) -> Reals:
        """Velocities, shape (n, 3), read-only; may be assigned."""
        return self._now().velocity

    @velocity.setter
    def velocity(self, value: ArrayLike) -> None:
        self._change(None, vectors("velocity", value, len(self)), None)

    @property
    def mass(self) -> Reals:
        """Masses, shape (n,), read-only; may be assigned."""
        return self._now().mass

    @mass.setter
    def mass(self, value: ArrayLike) -> None:
        self._change(None, None, masses("mass", value, len(self)))

    @property
    def acceleration(self) -> Reals:
        """Accelerations, shape (n, 3)."""
        return self._engine.acceleration()

    @property
    def potential(self) -> Reals:
        """Potential of each body in the field of all others and the external one, shape (n,).
        Costs one evaluation of forces."""
        found = self._engine.potential()
        if self._force_potential is not None:
            found += self._force_potential(np.array(self.position))
        return found

    def _change(self, position: Reals | None, velocity: Reals | None, mass: Reals | None) -> None:
        # Also after an interruption, when the change may still happen.
        try:
            self._engine.change(position, velocity, mass)
        finally:
            self._read = None

    def add(self, bodies: Bodies) -> None:
        """Adds bodies. If an id is taken, all of them get new ids above the largest."""
        own = self._now()
        fields = fields_of(bodies)
        if len(np.intersect1d(own.id, fields["id"])):
            first = int(own.id.max()) + 1
            if first + len(bodies) > 2**64:
                raise InputError("no ids are left for the bodies to add")
            fields["id"] = np.arange(first, first + len(bodies), dtype=np.uint64)
        try:
            self._engine.add(fields)
        finally:
            self._read = None

    def remove(self, which: Any) -> Bodies:
        """Removes bodies.

        Parameters
        ----------
        which
            A mask, indices or a slice.

        Returns
        -------
        Bodies
            Those removed.

        Raises
        ------
        InputError
            None would be left.
        """
        own = self._now()
        stays = np.ones(len(own), dtype=bool)
        try:
            stays[which] = False
        except IndexError as error:
            raise InputError(f"which cannot be an index of {len(own)} bodies: {error}") from None
        if not stays.any():
            raise InputError("which removes all bodies, but at least 1 must be left")
        removed = own[~stays]
        try:
            self._engine.retain(stays)
        finally:
            self._read = None
        return removed

    def step(self, n: int = 1, *, progress: Progress = False) -> None:
        """Takes steps.

        Parameters
        ----------
        n : int
            Number of steps of ``dt``.
        progress : bool or callable
            True shows a bar of tqdm; a function is called with (done, total) about 20 times a second.

        Raises
        ------
        InputError
            A body left the range of numbers: ``dt`` is too large. The bodies are at the end of the
            last whole step, as after KeyboardInterrupt.
        """
        count = count_of("n", n, 0)
        if count == 0:
            return
        with _Progress(progress, count) as report:
            self._engine.step(count, report.tick)
            report.report(count)

    @overload
    def integrate(
        self, until: float, *, every: float, callback: None = None, progress: Progress = False
    ) -> Iterator[Bodies]: ...

    @overload
    def integrate(
        self, until: float, *, every: None = None, callback: None = None, progress: Progress = False
    ) -> None: ...

    @overload
    def integrate(
        self,
        until: float,
        *,
        every: float | None = None,
        callback: Callable[[Simulation], object],
        progress: Progress = False,
    ) -> None: ...

    def integrate(
        self,
        until: float,
        *,
        every: float | None = None,
        callback: Callable[[Simulation], object] | None = None,
        progress: Progress = False,
    ) -> Iterator[Bodies] | None:
        """Takes steps until the clock shows at least ``until``; the last step is whole.

        Parameters
        ----------
        until : float
        every : float, optional
            Without ``callback``: the call returns an iterator over the bodies, now and after this
            time again and again, at the end of the step that reaches it.
        callback : callable, optional
            Called with the simulation instead, after each ``every`` or each step; ends the run by
            returning False.
        progress : bool or callable
            As for :meth:`step`.

        Returns
        -------
        iterator of Bodies, or None

        Examples
        --------
        >>> import gravitile
        >>> pair = gravitile.Simulation(gravitile.scene("two-body"))
        >>> [round(bodies.time, 2) for bodies in pair.integrate(1.0, every=0.5)]
        [0.0, 0.5, 1.0]
        """
        end = number("until", until)
        total = self._engine.steps_until(end)
        if every is not None and not number("every", every) > 0.0:
            raise InputError(f"every is {every}, but must be greater than 0")
        if callback is None and every is not None:
            return self._records(end, every, progress)
        if callback is None:
            self.step(total, progress=progress)
            return None
        for done, _ in self._stops(end, self.dt if every is None else every, progress):
            if done and callback(self) is False:
                break
        return None

    def _stops(self, until: float, every: float, progress: Progress) -> Iterator[tuple[int, int]]:
        """Steps done and to do, now and each time that a multiple of ``every`` is reached."""
        begin, first = self.time, self.steps
        total = self._engine.steps_until(until)
        with _Progress(progress, total) as report:
            yield 0, total
            done, record = 0, 0
            while done < total:
                # The next multiple that lies beyond the clock, so that none is met twice.
                record += 1
                target = max(min(begin + record * every, until), self.time)
                due = self._engine.steps_until(target)
                if due == 0 and target >= until:
                    break
                if due == 0:
                    record += max(0, int((self.time - begin) / every) - record)
                    continue
                due = min(due, total - done)
                before = done
                tick = report.tick
                self._engine.step(
                    due, None if tick is None else lambda now: report.report(before + now)
                )
                done = self.steps - first
                report.report(done)
                yield done, total

    def _records(self, until: float, every: float, progress: Progress) -> Iterator[Bodies]:
        for _ in self._stops(until, every, progress):
            yield self.bodies

    def trajectory(
        self,
        until: float,
        *,
        every: float,
        of: Any = None,
        progress: Progress = False,
    ) -> Reals:
        """Positions over time.

        Parameters
        ----------
        until, every, progress
            As for :meth:`integrate`.
        of
            Which bodies: a slice, a mask or indices; all by default.

        Returns
        -------
        ndarray, shape (records, bodies, 3)
        """
        if not number("every", every) > 0.0:
            raise InputError(f"every is {every}, but must be greater than 0")
        which = slice(None) if of is None else of
        end = number("until", until)
        places = [np.array(self.position[which]) for _ in self._stops(end, every, progress)]
        return np.stack(places)

    def field(self, at: ArrayLike) -> tuple[Reals, Reals]:
        """Accelerations and potentials by all bodies and the external field at points.

        Parameters
        ----------
        at : array_like, shape (m, 3)

        Returns
        -------
        acceleration : ndarray, shape (m, 3)
        potential : ndarray, shape (m,)
        """
        points = vectors("at", at)
        acceleration, potential = self._engine.field(points)
        if self._force is not None and self._force_potential is not None and len(points):
            acceleration += self._force(np.array(points))
            potential += self._force_potential(np.array(points))
        return acceleration, potential

    def energy(self) -> Energies:
        """Energies and momenta. Costs one evaluation of forces."""
        found = self._engine.energy()
        if self._force_potential is not None:
            now = self._now()
            own = float(np.sum(now.mass * self._force_potential(np.array(now.position))))
            if not self._engine.facts()["field"]:
                # With a field the motion of the centre of mass is part of it already.
                own += 0.5 * float(np.sum(now.mass)) * float(np.dot(found["drift"], found["drift"]))
            found["field"] += own
            found["total"] += own
        return Energies(
            **{
                name: np.asarray(value) if isinstance(value, list) else value
                for name, value in found.items()
            }  # type: ignore[arg-type]
        )

    def lagrangian_radii(
        self, fractions: Sequence[float] = (0.1, 0.5, 0.9), *, component: str | None = None
    ) -> Reals:
        """Radii around the densest point that hold these fractions of the mass.

        Parameters
        ----------
        fractions : sequence of float
            From 0 to 1.
        component : str, optional
            Only the bodies of this component, around their own densest point.

        Returns
        -------
        ndarray, shape (len(fractions),)
        """
        wanted = [number("fractions", fraction) for fraction in fractions]
        kind = None if component is None else text("component", component)
        return np.asarray(self._engine.lagrangian_radii(wanted, kind))

    def render(self, **options: Any) -> Image:
        """A picture of the bodies now; the options are those of :func:`gravitile.render`."""
        return Image(self._engine.picture(look(**options)))

    def film(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        frames: int = 300,
        fps: int = 30,
        steps_per_frame: int = 1,
        progress: Progress = False,
        **options: Any,
    ) -> Film:
        """Films the next steps.

        Parameters
        ----------
        path : str or path, optional
            ``film.webp``, ``film.apng``, ``film.mp4`` (needs ffmpeg) or a folder of pictures. By default
            an animated WebP in a new temporary folder.
        frames : int
            Number of pictures; the first shows the bodies now.
        fps : int
            Pictures per second, 1 to 240.
        steps_per_frame : int
            Steps from one picture to the next.
        progress : bool or callable
            As for :meth:`step`, in pictures.
        **options
            Those of :func:`gravitile.render`, and ``orbit``: degrees per second by which the camera
            turns around the z axis.

        Returns
        -------
        Film
            A notebook plays it.
        """
        chosen = look(**options)
        count = count_of("frames", frames, 1)
        rate = count_of("fps", fps, 1, 240)
        steps = count_of("steps_per_frame", steps_per_frame, 1)
        if path is None:
            path = Path(tempfile.mkdtemp(prefix="gravitile-")) / "film.webp"
        target = Path(os.fsdecode(path))
        with _Progress(progress, count, "pictures") as report:
            done = self._engine.film(
                os.fsdecode(path), chosen, count, rate, steps, report.tick
            )
            report.report(done)
        return Film(target, done)

    def view(self, **options: Any) -> View:
        """Shows the simulation in a notebook, to be turned, approached and played by mouse; the
        arguments are those of :func:`gravitile.view`."""
        from ._view import view

        return view(self, **options)

    def _repr_png_(self) -> bytes:
        return self.render(size=(640, 360)).png

    def __repr__(self) -> str:
        facts = self._engine.facts()
        return (
            f"Simulation(n={facts['n']}, time={self.time:g}, steps={self.steps}, "
            f"{facts['integrator']}, dt={facts['dt']:g}, eps={facts['eps']:g}, "
            f"{facts['method']} on {facts['described']})"
        )


def _hint(given: float | None, hint: str | float | None) -> float | None:
    return given if given is not None or hint is None else float(hint)


def _attribute(facts: dict[str, str], name: str) -> float | None:
    try:
        return float(facts[name])
    except (KeyError, ValueError):
        return None
