"""Graphics adapters."""

from __future__ import annotations

from typing import NamedTuple

from . import _gravitile


class Adapter(NamedTuple):
    """A graphics adapter."""

    name: str
    """The driver's name for it, of which a part selects it as ``adapter=``."""
    backend: str
    """``"vulkan"``, ``"metal"`` or ``"dx12"``."""
    driver: str
    """The driver and its version."""
    kind: str
    """``"discrete GPU"``, ``"integrated GPU"``, ``"virtual GPU"``, ``"software"``."""
    place: str | None
    """Address on the PCI bus, if known."""


def adapters() -> list[Adapter]:
    """All graphics adapters of this machine, best first.

    Returns
    -------
    list of Adapter
        Empty without a driver of Vulkan, Metal or Direct3D 12: everything is then computed by the CPU.

    Examples
    --------
    >>> import gravitile
    >>> all(one.name for one in gravitile.adapters())
    True
    """
    return [Adapter(*one) for one in _gravitile.adapters()]
