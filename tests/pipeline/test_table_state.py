"""The state that is stored beside a table."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from signalbox.pipeline.event_time.rule import EventTimeRule
from signalbox.pipeline.options import Profile
from signalbox.pipeline.table_state import StateError, StateFolder, TableState, scratch_directory
from tests.pipeline.synced_names import note_synced

STATE = TableState(topic="flights", topic_id="id-1", profile=Profile.PYPI, begin={"flights:0": 3}, schema="a INT")


def with_batches(folder: StateFolder, planned: int, committed: int) -> None:
    for kind, count in (("offsets", planned), ("commits", committed)):
        (folder.checkpoint / kind).mkdir(parents=True)
        for batch in range(count):
            (folder.checkpoint / kind / str(batch)).touch()


def test_state_comes_back_as_it_was_written(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path, "flights")
    assert folder.read() is None
    folder.write(STATE)
    assert folder.read() == STATE


def test_state_survives_a_loss_of_power(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = note_synced(monkeypatch)
    StateFolder(tmp_path, "flights").write(STATE)
    assert synced == [".state.json", "flights"]


@pytest.mark.spec("P8")
def test_the_rule_about_event_time_is_part_of_the_state(tmp_path: Path) -> None:
    folder, rule = StateFolder(tmp_path, "flights"), EventTimeRule("at", 60_000_000, ("id",))
    state = replace(STATE, event_time=rule)
    folder.write(state)
    assert folder.read() == state
    folder.reject_mismatch(state, STATE, None)
    folder.reject_mismatch(state, replace(STATE, event_time=replace(rule, deduplicate=())), None)
    for stored, requested, message in (
        (STATE, rule, "begun with no watermark, not watermark at=1m, deduplicate id"),
        (state, replace(rule, delay_us=0), "begun with watermark at=1m, deduplicate id, not watermark at=0s"),
        (state, replace(rule, deduplicate=("n",)), "deduplicate id, not watermark at=1m, deduplicate n: leave out"),
    ):
        with pytest.raises(StateError, match=message):
            folder.reject_mismatch(stored, replace(STATE, event_time=requested), None)


def test_state_of_a_newer_program_is_rejected(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path, "flights")
    folder.write(replace(STATE, version=99))
    with pytest.raises(StateError, match="version 99, this program knows 1"):
        folder.read()


def test_a_warehouse_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    lock = StateFolder(tmp_path / "file" / "lake", "t").locked()
    with pytest.raises(StateError, match=r"the warehouse cannot be written: .*file.*: Not a directory"), lock:
        pytest.fail("it was opened")


def test_one_process_at_a_time(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path, "flights")
    rejected = pytest.raises(StateError, match=f"is being run by process {os.getpid()}")
    with folder.locked(), rejected, folder.locked():
        raise AssertionError("the lock was taken twice")
    with folder.locked():
        assert (folder.path / "lock").read_text() == f"process {os.getpid()}\n"


@pytest.mark.parametrize(
    ("asked", "last_batch", "message"),
    [
        (replace(STATE, topic="other"), 1, "begun from topic flights, not other"),
        (replace(STATE, topic_id="id-2"), 1, "deleted and created again since"),
        (STATE, None, "holds none of them"),
    ],
)
def test_what_does_not_belong_together_is_rejected(
    tmp_path: Path, asked: TableState, last_batch: int | None, message: str
) -> None:
    folder = StateFolder(tmp_path, "flights")
    with_batches(folder, 3, 2)
    with pytest.raises(StateError, match=message):
        folder.reject_mismatch(STATE, asked, last_batch)


@pytest.mark.spec("P5")
def test_fields_of_raw_values_cannot_be_declared_later(tmp_path: Path) -> None:
    raw = replace(STATE, schema=None)
    with pytest.raises(StateError, match=r"begun without declared fields, asked for is \[b INT\]"):
        StateFolder(tmp_path, "flights").reject_mismatch(raw, replace(raw, schema="b INT"), None)


def test_a_lost_checkpoint_is_rejected_instead_of_repeating_the_topic(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"batches up to 7 but their checkpoint .* is gone"):
        StateFolder(tmp_path, "flights").reject_mismatch(STATE, replace(STATE, schema="infer"), 7)


def test_a_run_that_died_before_sparks_commit_goes_on(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path, "flights")
    with_batches(folder, 1, 0)
    folder.reject_mismatch(STATE, STATE, 0)
    folder.reject_mismatch(STATE, replace(STATE, schema=None), None)
    assert folder.checkpoint.is_dir()


@pytest.mark.spec("P3")
@pytest.mark.parametrize(
    ("planned", "committed", "last_batch", "words"),
    [
        (5, 5, 7, r"flights holds batches up to 7 but its checkpoint .*/checkpoint is older, it has batches up to 4"),
        (5, 4, 5, r"holds batches up to 5 but its checkpoint .* is older, it has batches up to 4"),
        (5, 5, 3, r"/checkpoint has batches up to 4 but table flights is older, it holds batches up to 3"),
        (5, 4, 2, r"has batches up to 3 but table flights is older, it holds batches up to 2"),
        (5, 0, 2, r"has batches up to 3 but table flights is older, it holds batches up to 2"),
        (2, 0, None, r"has batches up to 0 but table flights holds none of them"),
    ],
)
def test_a_table_and_a_checkpoint_of_different_times_are_rejected(
    tmp_path: Path, planned: int, committed: int, last_batch: int | None, words: str
) -> None:
    folder = StateFolder(tmp_path, "flights")
    with_batches(folder, planned, committed)
    with pytest.raises(StateError, match=words) as fault:
        folder.reject_mismatch(STATE, STATE, last_batch)
    if last_batch is not None:
        assert f"would be lost. Restore the table and {folder.path} from backups of the same time" in str(fault.value)


@pytest.mark.parametrize(
    ("planned", "committed", "last_batch"),
    [(5, 5, 4), (5, 4, 4), (5, 4, 3), (1, 0, None), (1, 0, 0), (0, 0, None)],
)
def test_a_batch_may_be_planned_only_or_be_in_the_table_only(
    tmp_path: Path, planned: int, committed: int, last_batch: int | None
) -> None:
    folder = StateFolder(tmp_path, "flights")
    with_batches(folder, planned, committed)
    folder.reject_mismatch(STATE, STATE, last_batch)


def test_scratch_of_dead_processes_is_removed(tmp_path: Path) -> None:
    root = tmp_path / ".signalbox" / "scratch"
    (root / "99999999").mkdir(parents=True)
    (root / "1").mkdir()
    mine = scratch_directory(tmp_path)
    assert sorted(path.name for path in root.iterdir()) == sorted(["1", str(os.getpid())])
    assert mine == root / str(os.getpid())


@pytest.mark.parametrize("content", [b"", b'{"version":', b"[]", b"\xff\xfe", b'{"version": 1}'])
def test_a_corrupt_state_is_named_with_the_remedy(tmp_path: Path, content: bytes) -> None:
    folder = StateFolder(tmp_path, "flights")
    folder.path.mkdir(parents=True)
    (folder.path / "state.json").write_bytes(content)
    with pytest.raises(
        StateError, match=r"flights/state.json cannot be read: .*\. Restore the warehouse from a backup"
    ):
        folder.read()
