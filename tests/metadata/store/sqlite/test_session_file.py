"""The session file shows whether its process is alive, silent or dead."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from signalbox.metadata.store.sqlite.session_file import PeerFile, SessionFile, process_start_time
from tests.small_disk import small_disk


def test_a_living_owner(tmp_path: Path) -> None:
    own = SessionFile(tmp_path, timeout_ms=1_000)
    peer = PeerFile(tmp_path, own.name)
    stamp = peer.read()
    assert stamp is not None
    assert (stamp.pid, stamp.timeout_ms) == (os.getpid(), 1_000)
    assert not stamp.is_silent(time.monotonic_ns())
    assert not peer.is_unowned()
    own.close()
    peer.close()


def test_silence_is_counted_from_the_last_beat(tmp_path: Path) -> None:
    own = SessionFile(tmp_path, timeout_ms=1_000)
    peer = PeerFile(tmp_path, own.name)
    first = peer.read()
    own.beat()
    second = peer.read()
    assert first is not None
    assert second is not None
    assert second.heartbeat_ns > first.heartbeat_ns
    assert second.is_silent(second.heartbeat_ns + 1_000_000_001)
    assert not second.is_silent(second.heartbeat_ns + 1_000_000_000)
    own.close()
    peer.close()


def test_an_abandoned_file_is_taken_by_one_peer_only(tmp_path: Path) -> None:
    own = SessionFile(tmp_path, timeout_ms=1_000)
    peers = [PeerFile(tmp_path, own.name) for _ in range(2)]
    own.abandon()
    assert [peer.is_unowned() for peer in peers] == [True, False]
    assert peers[0].is_unowned(), "the one who took the lock keeps it"
    peers[0].close()
    assert peers[1].is_unowned()
    peers[1].remove()
    assert os.listdir(tmp_path) == []


def test_a_missing_file_has_no_owner(tmp_path: Path) -> None:
    peer = PeerFile(tmp_path, "session-gone")
    assert peer.read() is None
    assert peer.is_unowned()
    peer.close()


def test_a_closed_file_is_gone(tmp_path: Path) -> None:
    own = SessionFile(tmp_path, timeout_ms=1_000)
    assert os.listdir(tmp_path) == [own.name]
    own.close()
    assert os.listdir(tmp_path) == []


def test_start_times_name_processes() -> None:
    assert process_start_time(os.getpid()) > 0
    assert process_start_time(2**22 + 1) == 0


def test_a_file_that_cannot_be_stamped_leaves_nothing_behind(tmp_path: Path) -> None:
    with small_disk(tmp_path, 64 << 10) as disk:
        disk.fill()
        with pytest.raises(OSError, match="No space left"):
            SessionFile(disk.path, timeout_ms=1_000)
        assert [each.name for each in disk.path.iterdir()] == ["filler"]
        disk.make_room()
        own = SessionFile(disk.path, timeout_ms=1_000)
        disk.fill()
        own.beat()
        own.close()
