"""The wheel has the product, without the tools that test it."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_wheel_is_made_of_the_product_alone() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel == {"packages": ["src/signalbox"]}
    assert not any((ROOT / "src" / "signalbox" / "testing" / name).exists() for name in ("chaos", "fuzz"))
