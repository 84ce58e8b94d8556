"""Which stored states of the roll-ups count."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from signalbox.pipeline.audit.rollup_state import RollupStates
from signalbox.pipeline.audit.rollup_table import STATES

pytestmark = pytest.mark.spec("P2")

STATE = pa.table({"a": [1]})


@pytest.fixture
def states(tmp_path: Path) -> RollupStates:
    """States at version 3 of the table `t`."""
    states = RollupStates(tmp_path / "rollups", "t")
    write(states, 3)
    states.commit(3)
    return states


def write(states: RollupStates, version: int) -> None:
    for name in STATES:
        states.write(name, version, STATE)


def test_states_count_once_they_are_committed_and_replace_the_earlier_ones(states: RollupStates) -> None:
    assert states.covered_version() == 3
    write(states, 5)
    assert states.covered_version() == 3
    states.commit(5)
    assert states.covered_version() == 5
    assert {path.name for path in states.path("kinds", 5).parent.iterdir()} == {
        "rollups.json",
        *(f"{name}-5.parquet" for name in STATES),
    }


@pytest.mark.parametrize("content", ["", "[", "[]", "{}", '{"version": "x"}', '{"version": null}', "\udcff"])
def test_a_corrupt_file_counts_as_absent(states: RollupStates, content: str) -> None:
    (states.path("kinds", 3).parent / "rollups.json").write_bytes(content.encode(errors="surrogateescape"))
    assert states.covered_version() is None


def test_lost_and_corrupt_states_count_as_absent(states: RollupStates, tmp_path: Path) -> None:
    assert RollupStates(tmp_path / "nowhere", "t").covered_version() is None
    states.path("kinds", 3).write_bytes(b"PAR1")
    assert states.covered_version() is None
    states.path("kinds", 3).unlink()
    assert states.covered_version() is None


def test_states_of_another_table_or_of_other_statements_count_as_absent(states: RollupStates) -> None:
    folder = states.path("kinds", 3).parent
    assert RollupStates(folder, "other").covered_version() is None
    stored = json.loads((folder / "rollups.json").read_text())
    (folder / "rollups.json").write_text(json.dumps({**stored, "statements": "earlier"}))
    assert states.covered_version() is None
