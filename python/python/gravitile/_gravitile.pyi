from collections.abc import Callable
from typing import Any, Final, TypedDict, final, type_check_only

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Engine",
    "Viewer",
    "__version__",
    "accelerations",
    "adapters",
    "derivatives",
    "end",
    "first_outside",
    "picture",
    "png",
    "read",
    "scene",
    "scene_names",
    "tune",
    "unit_si",
    "write",
]
__version__: Final[str]

_Reals = NDArray[np.float64]
_Tick = Callable[[int], object]
_Force = Callable[[_Reals], _Reals]

@type_check_only
class How(TypedDict):
    method: str
    engine: str
    adapter: str | None
    alpha: float | None
    theta: float | None
    precision: str | None
    devices: int

@type_check_only
class Fields(TypedDict):
    position: _Reals
    velocity: _Reals
    mass: _Reals
    id: NDArray[np.uint64]
    component: NDArray[np.uint8]
    components: list[tuple[str, str]]
    time: float
    units: tuple[str, str, str, float]
    attributes: dict[str, str]
    extra: dict[str, NDArray[Any]]

@type_check_only
class Request(TypedDict):
    eps: float | None
    dt: float | None
    integrator: str | None
    eta: float | None
    eta6: float | None
    dt_max: float | None
    g: float | None
    field: list[str]
    how: How

@type_check_only
class Look(TypedDict):
    size: tuple[int, int]
    colour: str
    palette: str | None
    halo: bool
    inclination: float
    azimuth: float
    extent: float | None
    centre: tuple[float, float, float] | None
    follow: str
    orbit: float
    captions: str
    title: str
    renderer: str

@type_check_only
class Moves(TypedDict):
    reset: bool
    turn: tuple[float, float]
    pan: tuple[float, float]
    zoom: float
    at: tuple[float, float]

@type_check_only
class Made(TypedDict):
    name: str
    title: str
    about: str
    softening: float
    dt: float
    until: float
    field: list[str]
    integrator: str | None
    eta: float | None
    eta6: float | None
    dt_max: float | None
    precision: str | None
    parameters: list[tuple[str, float]]
    bodies: Fields

_Shape = tuple[str, tuple[int, int, int, int, int], float]

@type_check_only
class Found(TypedDict):
    adapter: str
    timed: int
    method: str
    default: _Shape | None
    ranking: list[_Shape]
    refused: list[tuple[str, str]]

@type_check_only
class Facts(TypedDict):
    n: int
    eps: float
    dt: float
    g: float
    field: list[str]
    integrator: str
    engine: str
    method: str
    because: str
    described: str

def first_outside(array: _Reals, least: float) -> int | None: ...
def end() -> None: ...
def adapters() -> list[tuple[str, str, str, str, str | None]]: ...
def accelerations(
    position: _Reals, mass: _Reals, at: _Reals | None, eps: float, potential: bool, how: How
) -> tuple[_Reals, _Reals]: ...
def derivatives(
    position: _Reals,
    velocity: _Reals,
    mass: _Reals,
    at: tuple[_Reals, _Reals] | None,
    radius: _Reals | None,
    snap: bool,
    eps: float,
    how: How,
) -> dict[str, Any]: ...
def read(
    path: str, format: str | None, renumber: bool, snapshot: str | None
) -> tuple[Fields, list[str]]: ...
def write(path: str, bodies: Fields, format: str | None, files: int | None) -> list[str]: ...
def unit_si(kind: str, text: str) -> float | None: ...
def tune(n: int, adapter: str | None, secs: float, remember: bool) -> Found: ...
def scene_names() -> list[tuple[str, str, str]]: ...
def scene(
    name: str,
    toml: tuple[str, str] | None,
    n: int | None,
    seed: int | None,
    parameters: list[tuple[str, float]],
) -> Made: ...
def picture(bodies: Fields, look: Look) -> NDArray[np.uint8]: ...
def png(array: NDArray[np.uint8]) -> bytes: ...
@final
class Engine:
    def __new__(cls, bodies: Fields, request: Request, force: _Force | None) -> Engine: ...
    @staticmethod
    def load(path: str, force: _Force | None) -> Engine: ...
    def save(self, path: str, has_force: bool) -> None: ...
    def clock(self) -> tuple[float, int]: ...
    def facts(self) -> Facts: ...
    def step(self, steps: int, tick: _Tick | None) -> None: ...
    def steps_until(self, time: float) -> int: ...
    def bodies(self) -> Fields: ...
    def acceleration(self) -> _Reals: ...
    def change(
        self, position: _Reals | None, velocity: _Reals | None, mass: _Reals | None
    ) -> None: ...
    def add(self, bodies: Fields) -> None: ...
    def retain(self, stays: NDArray[np.bool_]) -> None: ...
    def energy(self) -> dict[str, Any]: ...
    def potential(self) -> _Reals: ...
    def lagrangian_radii(self, fractions: list[float], component: str | None) -> list[float]: ...
    def field(self, at: _Reals) -> tuple[_Reals, _Reals]: ...
    def picture(self, look: Look) -> NDArray[np.uint8]: ...
    def film(
        self,
        path: str,
        look: Look,
        frames: int,
        fps: int,
        steps_per_frame: int,
        tick: _Tick | None,
    ) -> int: ...
@final
class Viewer:
    def __new__(cls, engine: Engine | None, bodies: Fields | None, look: Look) -> Viewer: ...
    def frame(self, engine: Engine | None, moves: Moves) -> bytes: ...
