"""Views in notebooks: the messages of a widget, and the answers.

The browser requests one picture at a time, with what the mouse did since the last, and the next when it has
drawn that: a slow line or a slow kernel makes fewer pictures, never a queue of them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _gravitile
from ._arrays import count_of
from ._bodies import Bodies, fields_of
from ._errors import GravitileError, InputError
from ._pictures import Image, look, render
from ._simulation import Simulation

if TYPE_CHECKING:
    from ._widget import View

_BETWEEN_PICTURES = 1 / 30
"""Seconds of steps between two pictures if their number is not given."""


def _number(of: Mapping[str, Any], name: str, default: float) -> float:
    value = of.get(name, default)
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(f"{name} is {value!r}, but must be a finite number")
    return float(value)


def _pair(of: Mapping[str, Any], name: str) -> tuple[float, float]:
    value = of.get(name, (0.0, 0.0))
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise InputError(f"{name} is {value!r}, but must be two numbers")
    first, second = (_number({name: one}, name, 0.0) for one in value)
    return first, second


class Session:
    """A camera on a simulation or on bodies, moved and stepped by messages."""

    def __init__(
        self, subject: Simulation | Bodies, steps: int | None, options: Mapping[str, Any]
    ) -> None:
        self.steps = None if steps is None else count_of("steps", steps, 1)
        chosen = look(**options)
        self.size = chosen["size"]
        self._subject, self._options = subject, dict(options)
        self.simulation = subject if isinstance(subject, Simulation) else None
        if isinstance(subject, Simulation):
            self._viewer = _gravitile.Viewer(subject._engine, None, chosen)
        else:
            self._viewer = _gravitile.Viewer(None, fields_of(subject), chosen)
        self._suited = 1

    def frame(self, content: Mapping[str, Any]) -> bytes:
        """A picture, as a WebP file, after the moves of the mouse in ``content``."""
        zoom = _number(content, "zoom", 1.0)
        if not zoom > 0.0:
            raise InputError(f"zoom is {zoom}, but must be greater than 0")
        moves: _gravitile.Moves = {
            "reset": content.get("reset") is True,
            "turn": _pair(content, "turn"),
            "pan": _pair(content, "pan"),
            "zoom": zoom,
            "at": _pair(content, "at"),
        }
        engine = None if self.simulation is None else self.simulation._engine
        return self._viewer.frame(engine, moves)

    def still(self) -> Image:
        """A picture as at the beginning of the view."""
        return render(self._subject, **self._options)

    def advance(self) -> None:
        """Takes the steps between two pictures."""
        if self.simulation is None:
            return
        if self.steps is not None:
            self.simulation.step(self.steps)
            return
        count, begun = self._suited, time.perf_counter()
        self.simulation.step(count)
        took = max(time.perf_counter() - begun, 1e-6)
        # At most doubled, since the first steps may be the fast ones.
        self._suited = max(1, min(2 * count, int(count * _BETWEEN_PICTURES / took)))

    def answer(self, content: Any) -> tuple[dict[str, Any], list[bytes]]:
        """The answer to a message of the browser, and its attachments; never raises, since nobody
        would see it."""
        view = content.get("view") if isinstance(content, Mapping) else None
        try:
            if not isinstance(content, Mapping) or content.get("kind") != "look":
                raise InputError(f"there is no message {content!r:.80}, but must be of the kind 'look'")
            if content.get("advance") is True:
                self.advance()
            picture = self.frame(content)
        except (GravitileError, KeyboardInterrupt, Exception) as error:
            text = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            return {"kind": "error", "view": view, "text": text or type(error).__name__}, []
        now = self.simulation
        clock = {} if now is None else {"time": now.time, "steps": now.steps}
        return {"kind": "frame", "view": view, **clock}, [picture]


def view(
    subject: Simulation | Bodies,
    *,
    steps: int | None = None,
    size: tuple[int, int] = (640, 360),
    **options: Any,
) -> View:
    """Shows a simulation or bodies in a notebook, to be turned, approached and played by mouse.

    Pictures are made where the simulation is, on its graphics card or by the CPU, and sent to the
    browser: 10 to 60 kB each, through whatever connects it with the kernel. Dragging turns, dragging
    with the right button or with Shift moves, the wheel approaches, a double click goes back. While
    it plays, steps are taken between pictures and between the cells that run.

    Parameters
    ----------
    subject : Simulation or Bodies
    steps : int, optional
        Steps from one picture to the next; by default as many as take 1/30 s.
    size : (int, int)
        Width and height in pixels.
    **options
        Those of :func:`gravitile.render`.

    Returns
    -------
    View
        A widget of anywidget. ``playing`` may be read and set; ``close()`` removes it. A notebook
        that is saved keeps a picture.

    Raises
    ------
    InputError
        Bodies or options out of range; anywidget is not installed.
    """
    if not isinstance(subject, (Simulation, Bodies)):
        raise InputError(
            f"subject is of the type {type(subject).__name__}, but must be a Simulation or Bodies"
        )
    try:
        from ._widget import View
    except ImportError as error:
        raise InputError(f"view needs anywidget (pip install anywidget): {error}") from None
    return View(Session(subject, steps, {"size": size, **options}))
