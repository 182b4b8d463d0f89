"""Kernel shapes, measured."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import _gravitile
from ._arrays import count_of, number, text
from ._errors import InputError


@dataclass(frozen=True)
class Kernel:
    """A shape of the all-pairs kernel, as docs/tiling.md describes it, and how fast it was."""

    name: str
    """In words."""
    p: int
    """Threads along the sinks of a workgroup, and sources per thread and tile."""
    q: int
    """Threads that share one sink."""
    r: int
    """Sinks per thread."""
    u: int
    """Interactions unrolled in the inner loop."""
    s: int
    """Slices of the sources, each with workgroups of its own."""
    seconds: float
    """Per step, median."""


@dataclass(frozen=True)
class Tuning:
    """What :func:`tune` found."""

    adapter: str
    n: int
    """Number of bodies that were timed."""
    best: Kernel
    default: Kernel | None
    """The shape used without tuning, if it could be timed."""
    ranking: list[Kernel] = field(repr=False)
    """All that were timed, the fastest first."""
    refused: dict[str, str] = field(repr=False)
    """Shapes that gave wrong results or do not fit the adapter, and why."""
    method: str
    """How times were taken."""

    @property
    def gain(self) -> float:
        """How many times as fast as the default."""
        return 1.0 if self.default is None else self.default.seconds / self.best.seconds

    @property
    def interactions_per_second(self) -> float:
        """Of the fastest shape."""
        return self.n**2 / self.best.seconds


def _kernel(row: tuple[str, tuple[int, int, int, int, int], float]) -> Kernel:
    name, (p, q, r, u, s), seconds = row
    return Kernel(name, p, q, r, u, s, seconds)


def tune(
    n: int, *, adapter: str | None = None, secs: float = 10.0, remember: bool = True
) -> Tuning:
    """Finds the fastest all-pairs kernel for steps of ``n`` bodies on an adapter, by measurement.

    Parameters
    ----------
    n : int
        Number of bodies; at most 262,144 are timed.
    adapter : str, optional
        As for :func:`gravitile.accelerations`.
    secs : float
        About how long the search may take.
    remember : bool
        Whether later simulations take the shape found: of this process, of others, and of the
        program, which has the same file. It changes the last bits of their results.

    Returns
    -------
    Tuning

    Raises
    ------
    InputError
        Numbers out of range.
    DeviceError
        There is no adapter, or it failed.
    """
    budget = number("secs", secs)
    if not 0.0 < budget <= 3600.0:
        raise InputError(f"secs is {budget:g}, but must be greater than 0 and at most 3600")
    found = _gravitile.tune(
        count_of("n", n, 1, 2**31),
        None if adapter is None else text("adapter", adapter),
        budget,
        bool(remember),
    )
    ranking = [_kernel(row) for row in found["ranking"]]
    if not ranking:
        raise InputError(f"secs is {budget:g}, which was too short to time any kernel: take more")
    default = found["default"]
    return Tuning(
        adapter=found["adapter"],
        n=found["timed"],
        best=ranking[0],
        default=None if default is None else _kernel(default),
        ranking=ranking,
        refused=dict(found["refused"]),
        method=found["method"],
    )
