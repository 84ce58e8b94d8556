"""The zip of this package for a cluster's workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from signalbox.pipeline.package_zip import write_package_zip


def test_the_zip_alone_is_enough_to_import_the_data_source(tmp_path: Path) -> None:
    archive = write_package_zip(tmp_path)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import signalbox.pipeline.source_python as s; print(s.__file__)"
    )
    answer = subprocess.run([sys.executable, "-c", code, str(archive)], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == f"{archive}/signalbox/pipeline/source_python.py"


def test_the_same_sources_are_the_same_file(tmp_path: Path) -> None:
    assert write_package_zip(tmp_path) == write_package_zip(tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
