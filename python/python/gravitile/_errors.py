"""Exceptions."""


class GravitileError(RuntimeError):
    """Something failed: the base of the exceptions of this package.

    Missing files raise ``FileNotFoundError`` and other failures of the operating system
    ``OSError``, as elsewhere in Python.
    """


class InputError(GravitileError, ValueError):
    """An argument or a file that cannot be used; the text says which, and what is allowed."""


class DeviceError(GravitileError):
    """A graphics adapter that is missing, that cannot do what was requested, or that failed."""


for _error in (GravitileError, InputError, DeviceError):
    # What messages and pickles call them.
    _error.__module__ = "gravitile"
