"""The wheel that pip builds has the product, without the tools that test it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_a_built_wheel_has_the_product_alone(tmp_path: Path) -> None:
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path))
    subprocess.run([*pip, str(ROOT)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    folders = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in folders if not name.endswith(".dist-info")} == {"signalbox"}
