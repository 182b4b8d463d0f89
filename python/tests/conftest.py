"""What the tests share: direct sums by numpy in float64, and random bodies."""

import os
import tempfile

import numpy as np
import pytest

# Kernels tuned on this machine would change the last bits.
_cache = tempfile.TemporaryDirectory(prefix="gravitile-tests-")
os.environ["GRAVITILE_CACHE_DIR"] = _cache.name


def pulls(position, mass, at=None, eps=0.0, g=1.0):
    """Accelerations and potentials by numpy, in float64."""
    own = at is None
    points = position if own else at
    d = position[None, :, :] - points[:, None, :]
    r2 = (d**2).sum(axis=2) + eps**2
    if own:
        np.fill_diagonal(r2, np.inf)
    with np.errstate(divide="ignore"):
        inverse = np.where(r2 > 0.0, 1.0 / np.sqrt(r2), 0.0)
    acceleration = g * np.einsum("ij,ijk->ik", mass[None, :] * inverse**3, d)
    return acceleration, -g * (mass[None, :] * inverse).sum(axis=1)


def rms(found, right):
    """Root mean square of the errors over the root mean square of the right values."""
    return np.sqrt(((found - right) ** 2).sum() / (right**2).sum())


@pytest.fixture
def sphere():
    """Positions, velocities and masses of 300 bodies."""
    random = np.random.default_rng(1)
    return random.normal(size=(300, 3)), random.normal(size=(300, 3)), random.uniform(size=300)
