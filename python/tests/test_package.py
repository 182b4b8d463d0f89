"""The package as a whole."""

import subprocess
import sys

from pathlib import Path

import pytest

import gravitile

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", ["README.md", "python/README.md"])
def test_the_example_of_a_page_runs(page, tmp_path, monkeypatch):
    _, *examples = (ROOT / page).read_text().split("```python\n")
    code = [example.split("```")[0] for example in examples]
    assert len(code) == 1
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(code[0], names)
    assert names["simulation"].steps > 0
    assert [path.name for path in tmp_path.iterdir()] == ["collision.webp"]


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
