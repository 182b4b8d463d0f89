"""The package as a whole."""

import subprocess
import sys

import gravitile


def test_names_are_documented():
    for name in gravitile.__all__:
        assert name == "__version__" or getattr(gravitile, name).__doc__, name


def test_an_import_opens_no_device_and_imports_only_numpy():
    code = (
        "import sys, numpy; before = set(sys.modules); import gravitile;"
        "print(sorted({m.split('.')[0] for m in set(sys.modules) - before}"
        " - set(sys.stdlib_module_names) - {'numpy'}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "['gravitile']"


def test_adapters_are_listed():
    for adapter in gravitile.adapters():
        assert adapter.name and adapter.backend in ("vulkan", "metal", "dx12") and adapter.kind
