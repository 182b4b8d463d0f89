"""Pictures and films."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _gravitile
from ._arrays import number, text
from ._bodies import Bodies, fields_of
from ._errors import InputError

if TYPE_CHECKING:
    from ._simulation import Simulation

Progress = bool | Callable[[int, int], object]


class Image:
    """A picture, which a notebook shows.

    Attributes
    ----------
    array : ndarray of uint8, shape (height, width, 4)
        Red, green, blue (sRGB) and 255, rows from top to bottom.
    """

    __slots__ = ("array",)

    array: NDArray[np.uint8]

    def __init__(self, array: NDArray[np.uint8]) -> None:
        self.array = array

    @property
    def png(self) -> bytes:
        """The picture as a PNG file."""
        return _gravitile.png(self.array)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a PNG file."""
        Path(path).write_bytes(self.png)

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        height, width, _ = self.array.shape
        return f"Image({width}x{height})"


_TYPES = {".webp": "image/webp", ".apng": "image/apng", ".png": "image/png", ".mp4": "video/mp4"}


class Film:
    """A film in a file, which a notebook plays.

    Attributes
    ----------
    path : Path
    frames : int
        Number of pictures.
    """

    __slots__ = ("path", "frames")

    path: Path
    frames: int

    def __init__(self, path: Path, frames: int) -> None:
        self.path = path
        self.frames = frames

    def __repr__(self) -> str:
        return f"Film({str(self.path)!r}, frames={self.frames})"

    def _repr_html_(self) -> str | None:
        kind = _TYPES.get(self.path.suffix.lower())
        if kind is None:
            return None
        data = f"data:{kind};base64,{base64.b64encode(self.path.read_bytes()).decode()}"
        if kind.startswith("video"):
            return f'<video controls loop autoplay muted src="{data}"></video>'
        return f'<img src="{data}">'


def look(
    *,
    size: tuple[int, int] = (1280, 720),
    colour: str = "component",
    palette: str | None = None,
    halo: bool = False,
    inclination: float = 55.0,
    azimuth: float = -90.0,
    extent: float | None = None,
    centre: tuple[float, float, float] | None = None,
    follow: str = "nothing",
    orbit: float = 0.0,
    captions: str = "none",
    title: str = "",
    renderer: str = "auto",
) -> _gravitile.Look:
    """The arguments on pictures, for the compiled part; see :func:`render`."""
    try:
        width, height = (int(side) for side in size)
    except (TypeError, ValueError):
        raise InputError(f"size is {size!r}, but must be (width, height)") from None
    if not (0 < width < 2**31 and 0 < height < 2**31):
        raise InputError(f"size is {size!r}, but must be two numbers above 0")
    place = None
    if centre is not None:
        x, y, z = (number("centre", value) for value in centre)
        place = (x, y, z)
    return {
        "size": (width, height),
        "colour": text("colour", colour),
        "palette": None if palette is None else text("palette", palette),
        "halo": bool(halo),
        "inclination": number("inclination", inclination),
        "azimuth": number("azimuth", azimuth),
        "extent": None if extent is None else number("extent", extent),
        "centre": place,
        "follow": text("follow", follow),
        "orbit": number("orbit", orbit),
        "captions": text("captions", captions),
        "title": text("title", title),
        "renderer": text("renderer", renderer),
    }


def render(bodies: Bodies | Simulation, **options: Any) -> Image:
    """A picture of bodies, or of a simulation now.

    Parameters
    ----------
    bodies : Bodies or Simulation
    size : (int, int)
        Width and height in pixels; (1280, 720) by default.
    colour : {"component", "speed", "acceleration", "age", "density"}
    palette : str, optional
        The scale of all colours but those by component.
    halo : bool
        Whether dark matter is drawn too.
    inclination : float
        Degrees between the line of sight and the z axis; 55 by default.
    azimuth : float
        Degrees of the camera about the z axis, from the x axis; -90 by default.
    extent : float, optional
        Half the height of the picture, in units of length; by default nearly all bodies are in it.
    centre : (float, float, float), optional
        The point in the middle.
    follow : str
        What is in the middle: ``"nothing"``, ``"centre"`` (of mass), a component, or ``"body:7"``.
    captions : str
        Captions of a simulation, separated by commas: ``"title"``, ``"time"``, ``"scale"``,
        ``"legend"``, or ``"all"``; ``"none"`` by default.
    title : str
        For the caption.
    renderer : {"auto", "gpu", "cpu"}

    Returns
    -------
    Image

    Raises
    ------
    InputError
        Bodies or options out of range.

    Examples
    --------
    >>> import gravitile
    >>> gravitile.render(gravitile.scene("plummer", n=100).bodies, size=(64, 48))
    Image(64x48)
    """
    from ._simulation import Simulation

    if isinstance(bodies, Simulation):
        return bodies.render(**options)
    return Image(_gravitile.picture(fields_of(bodies), look(**options)))
