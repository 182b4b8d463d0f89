"""Arguments as arrays of numpy.

Lists, other types of numbers, Fortran order and strides are accepted. What has the right type and
order already is not copied.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _gravitile
from ._errors import InputError

Reals = NDArray[np.float64]


def _numeric(name: str, value: ArrayLike) -> NDArray[Any]:
    unit = getattr(value, "unit", None)
    if unit is not None:
        raise InputError(f"{name} has the unit {unit}: pass numbers, such as {name}.to_value(...)")
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise InputError(f"{name} has masked entries: pass only numbers")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(f"{name} is no array of numbers: {error}") from None
    if array.dtype.kind not in "fiu":
        raise InputError(f"{name} has the type {array.dtype}, but must hold real numbers")
    return array


def plain(array: NDArray[Any], kind: DTypeLike) -> NDArray[Any]:
    """The array in C order and aligned, as the compiled part wants it: fields of packed records are
    neither."""
    array = array.astype(kind, order="C", copy=False)
    return array if array.flags.aligned else array.copy()


def _check(name: str, array: Reals, least: float = -math.inf) -> None:
    wrong = _gravitile.first_outside(array, least)
    if wrong is not None:
        place = np.unravel_index(wrong, array.shape)
        index = ", ".join(str(i) for i in place)
        allowed = "finite" if least == -math.inf else f"finite and at least {least:g}"
        raise InputError(f"{name}[{index}] is {array[place]}, but must be {allowed}")


def _shape(of: tuple[int, ...]) -> str:
    return f"({', '.join(str(side) for side in of)}{',' if len(of) == 1 else ''})"


def vectors(name: str, value: ArrayLike, count: int | None = None) -> Reals:
    """An array of shape (n, 3) of finite float64; n is ``count`` if that is given."""
    array = _numeric(name, value)
    n = "n" if count is None else str(count)
    is_fit = array.ndim == 2 and array.shape[1] == 3 and count in (None, array.shape[0])
    if not is_fit:
        raise InputError(f"{name} has the shape {_shape(array.shape)}, but must have ({n}, 3)")
    array = plain(array, np.float64)
    _check(name, array)
    return array


def masses(name: str, value: ArrayLike, count: int) -> Reals:
    """An array of shape (count,) of float64, finite and at least 0; a single number stands for
    equal entries."""
    array = _numeric(name, value)
    if array.ndim == 0:
        array = np.full(count, array, dtype=np.float64)
    if array.shape != (count,):
        wanted = f"({count},), one per body, or be one number"
        raise InputError(f"{name} has the shape {_shape(array.shape)}, but must have {wanted}")
    array = plain(array, np.float64)
    _check(name, array, 0.0)
    return array


def numbers(name: str, value: ArrayLike, count: int) -> Reals:
    """An array of shape (count,) of finite float64."""
    array = _numeric(name, value)
    if array.shape != (count,):
        raise InputError(f"{name} has the shape {_shape(array.shape)}, but must have ({count},)")
    array = plain(array, np.float64)
    _check(name, array)
    return array


def whole(name: str, value: ArrayLike, count: int, most: int) -> NDArray[np.integer[Any]]:
    """An array of shape (count,) of integers from 0 to ``most``."""
    array = np.asarray(value)
    if array.dtype.kind not in "iu" and array.size:
        raise InputError(f"{name} has the type {array.dtype}, but must hold whole numbers")
    if array.shape != (count,):
        wanted = f"({count},), one per body"
        raise InputError(f"{name} has the shape {_shape(array.shape)}, but must have {wanted}")
    if count and not (0 <= int(array.min()) and int(array.max()) <= most):
        raise InputError(f"{name} must hold numbers from 0 to {most}")
    return array


def text(name: str, value: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise InputError(f"{name} is {value!r}, but must be a text")
    return value


def number(name: str, value: float) -> float:
    """A finite number."""
    if type(value) is float and math.isfinite(value):
        return value
    array = _numeric(name, value)
    if array.ndim != 0:
        raise InputError(f"{name} has the shape {_shape(array.shape)}, but must be one number")
    if not np.isfinite(array):
        raise InputError(f"{name} is {value}, but must be finite")
    return float(array)


def count_of(name: str, value: int, least: int, most: int = 2**53) -> int:
    """A whole number from ``least`` to ``most``."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or not least <= value <= most:
        raise InputError(f"{name} is {value}, but must be a whole number from {least} to {most}")
    return int(value)
