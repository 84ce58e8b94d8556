"""A batch is committed once, whatever other processes commit meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake.exceptions import CommitFailedError

from signalbox.pipeline.object_store.open_table import open_table
from signalbox.pipeline.sinks import commit_files as module
from signalbox.pipeline.sinks.commit_files import CommitConflictError, batch_folder, commit_files
from signalbox.pipeline.sinks.delta_log import ensure_table, last_transaction
from signalbox.pipeline.sinks.table_sink import BatchStamp, TableTarget
from tests.pipeline.sinks.test_delta_log import struct

pytestmark = pytest.mark.spec("P3")


@pytest.fixture
def target(tmp_path: Path) -> TableTarget:
    ensure_table(tmp_path / "t", struct(a="long"))
    return TableTarget(tmp_path / "t", "app")


def test_the_folder_of_a_batch_depends_on_the_application(target: TableTarget) -> None:
    first, other = (batch_folder(TableTarget(target.path, app), BatchStamp(7)) for app in ("app", "other"))
    assert first != other
    assert first.endswith("/000000000007")


def test_a_batch_that_was_committed_meanwhile_is_rejected(target: TableTarget) -> None:
    assert commit_files(target, [], BatchStamp(0)) == 0
    with pytest.raises(CommitConflictError, match="table t: another process has committed batch 0 meanwhile"):
        commit_files(target, [], BatchStamp(0))
    assert last_transaction(target.path, "app") == 0


def test_a_commit_at_the_same_time_has_the_same_end(target: TableTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both processes opened the table before the other committed."""
    opened = [open_table(target.path), open_table(target.path)]
    monkeypatch.setattr(module, "open_table", lambda path: opened.pop() if opened else open_table(path))
    commit_files(target, [], BatchStamp(0))
    with pytest.raises(CommitConflictError):
        commit_files(target, [], BatchStamp(0))
    assert open_table(target.path).version() == 1


def test_other_applications_conflict_with_none(target: TableTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = [open_table(target.path), open_table(target.path)]
    monkeypatch.setattr(module, "open_table", lambda path: opened.pop() if opened else open_table(path))
    commit_files(target, [], BatchStamp(0))
    commit_files(TableTarget(target.path, "other"), [], BatchStamp(0))
    assert open_table(target.path).version() == 2


def test_a_table_that_was_changed_meanwhile_is_no_conflict_of_batches(
    target: TableTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = [open_table(target.path)]
    ensure_table(target.path, struct(a="long", b="long"))
    monkeypatch.setattr(module, "open_table", lambda path: opened.pop() if opened else open_table(path))
    with pytest.raises(CommitFailedError):
        commit_files(target, [], BatchStamp(0))
    assert commit_files(target, [], BatchStamp(0)) == 0
