"""Logs that wait for the backoff, and logs that are not compacted any more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from signalbox.storage.cleaner.failed_logs import FailedLogs
from tests.storage.cleaner.cleaning import COMPACTED, CompactedLog, keyed
from tests.storage.workbench import TOPIC_ID, TP

pytestmark = pytest.mark.spec("D6")


def test_a_log_waits_until_the_end_of_the_backoff(tmp_path: Path) -> None:
    log, failed = CompactedLog(tmp_path), FailedLogs()
    assert failed.may_clean(log.log)
    failed.add(log.log)
    assert not failed.may_clean(log.log)
    assert not failed.is_uncleanable(log.log)
    failed.end_backoff(log.logs.get)
    assert failed.may_clean(log.log)


def test_three_consecutive_lost_workers_make_a_log_uncleanable(tmp_path: Path) -> None:
    log, failed = CompactedLog(tmp_path), FailedLogs()
    assert [failed.add_lost_worker(log.log) for _ in range(2)] == [False, False]
    failed.remove(log.log)  # a round succeeds
    assert [failed.add_lost_worker(log.log) for _ in range(3)] == [False, False, True]
    failed.end_backoff(log.logs.get)
    assert not failed.may_clean(log.log)


def test_an_uncleanable_log_that_is_truncated_or_reconfigured_is_tried_again(tmp_path: Path) -> None:
    log, failed = CompactedLog(tmp_path), FailedLogs()
    log.append(keyed({"a": "1"}), keyed({"a": "2"}))
    failed.add_uncleanable(log.log)
    assert not failed.may_clean(log.log)
    log.log.update_config(replace(COMPACTED, delete_retention_ms=5))
    assert failed.may_clean(log.log)
    failed.add_uncleanable(log.log)
    assert not failed.may_clean(log.log)
    log.log.truncate_to(1)
    assert failed.may_clean(log.log)


def test_deleted_logs_are_forgotten(tmp_path: Path) -> None:
    log, failed = CompactedLog(tmp_path), FailedLogs()
    failed.add_uncleanable(log.log)
    failed.add_lost_worker(log.log)
    log.logs.delete(TP)
    failed.end_backoff(log.logs.get)
    assert failed.may_clean(log.log)
    again = log.logs.create(TP, TOPIC_ID, COMPACTED)
    assert [failed.add_lost_worker(again) for _ in range(3)] == [False, False, True]
