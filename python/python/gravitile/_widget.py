"""The widget of :func:`gravitile.view`; the only module that needs anywidget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ._view import Session


class View(anywidget.AnyWidget):  # type: ignore[misc]
    """A view in a notebook, made by :func:`gravitile.view`."""

    _esm = Path(__file__).parent / "view.js"
    _css = Path(__file__).parent / "view.css"

    size = traitlets.List(trait=traitlets.Int()).tag(sync=True)
    """Width and height of the pictures."""
    moves = traitlets.Bool().tag(sync=True)
    """Whether there is a simulation to play."""
    playing = traitlets.Bool(False).tag(sync=True)
    """Whether steps are taken from picture to picture."""

    def __init__(self, session: Session) -> None:
        super().__init__(size=list(session.size), moves=session.simulation is not None)
        self._session = session
        self.on_msg(self._receive)

    def _receive(self, _: Any, content: Any, __: Any) -> None:
        reply, attachments = self._session.answer(content)
        if reply["kind"] == "error":
            self.playing = False
        self.send(reply, attachments)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, with a picture for where no kernel runs: on a page, or in a file."""
        found = super()._repr_mimebundle_(**options)
        data, metadata = found if isinstance(found, tuple) else (found, {})
        return {**(data or {}), "image/png": self._session.still().png}, metadata

    def __repr__(self) -> str:
        width, height = self.size
        return f"View({width}x{height})"
