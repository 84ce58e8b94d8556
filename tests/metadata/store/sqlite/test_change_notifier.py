"""Notifications reach every other participant, carry paths, and never block."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signalbox.metadata.store.sqlite.change_notifier import EVERYTHING, ChangeNotifier
from tests.descriptors import no_new_descriptor


def test_a_notification_reaches_the_others_and_not_its_sender(tmp_path: Path) -> None:
    notifiers = [ChangeNotifier(tmp_path) for _ in range(3)]
    notifiers[0].notify(["/a", "/ä"])
    assert [notifier.receive() for notifier in notifiers] == [set(), {"/a", "/ä"}, {"/a", "/ä"}]
    assert notifiers[1].receive() == set()
    for notifier in notifiers:
        notifier.close()
    assert os.listdir(tmp_path) == []


def test_too_many_paths_become_everything(tmp_path: Path) -> None:
    one, two = ChangeNotifier(tmp_path), ChangeNotifier(tmp_path)
    one.notify([f"/brokers/topics/{number}" for number in range(2_000)])
    assert two.receive() == {EVERYTHING}
    one.close()
    two.close()


def test_a_full_queue_does_not_stop_the_sender(tmp_path: Path) -> None:
    one, two = ChangeNotifier(tmp_path), ChangeNotifier(tmp_path)
    for number in range(5_000):
        one.notify([f"/{number}"])
    assert "/0" in two.receive()
    one.close()
    two.close()


def test_an_abandoned_socket_is_removed_by_the_next_notification(tmp_path: Path) -> None:
    one, two = ChangeNotifier(tmp_path), ChangeNotifier(tmp_path)
    two.abandon()
    assert len(os.listdir(tmp_path)) == 2
    one.notify(["/a"])
    assert len(os.listdir(tmp_path)) == 1
    one.close()


def test_a_notification_that_cannot_be_sent_is_lost(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The commit before it has succeeded, so the caller must not get an error."""
    one, two = ChangeNotifier(tmp_path), ChangeNotifier(tmp_path)
    with no_new_descriptor():
        one.notify(["/a"])
    assert "Commit notification failed" in caplog.text
    one.notify(["/b"])
    assert two.receive() == {"/b"}
    one.close()
    two.close()
