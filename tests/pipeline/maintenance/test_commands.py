"""The API of the maintenance of tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from signalbox.pipeline.maintenance.commands import maintain_table


@pytest.mark.spec("P8")
def test_a_table_is_maintained(tmp_path: Path) -> None:
    for number in range(2):
        write_deltalake(str(tmp_path / "t"), pa.table({"n": [number]}), mode="append")
    (result,) = maintain_table(tmp_path, "t", 128, 168, lambda _: None)
    assert (result.as_json()["files_before"], result.as_json()["files_after"]) == (2, 1)


def test_importing_it_loads_no_library() -> None:
    code = "import sys, signalbox.pipeline.maintenance.commands; assert not {'deltalake', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
