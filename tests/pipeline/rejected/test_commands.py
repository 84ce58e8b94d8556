"""The API of the rejected records."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from signalbox.pipeline.options import OptionError, TablesOptions
from signalbox.pipeline.rejected.commands import list_rejected, replay_rejected, show_rejected
from signalbox.pipeline.table_state import StateError


@pytest.mark.spec("P6")
def test_a_table_that_is_not_there_is_an_error_of_each_command(warehouse: Path) -> None:
    options = TablesOptions(bootstrap_servers="h:1", warehouse=warehouse, topic="t")
    with pytest.raises(StateError, match="no table t"):
        list_rejected(warehouse, "t")
    with pytest.raises(StateError, match="no table t"):
        show_rejected(warehouse, "t", 1, None, None)
    with pytest.raises((StateError, OptionError), match="no table t"):
        replay_rejected(options, None, print)


def test_importing_it_loads_neither_spark_nor_arrow() -> None:
    code = "import sys, signalbox.pipeline.rejected.commands; assert not {'pyspark', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
