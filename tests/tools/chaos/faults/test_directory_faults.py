"""A log directory is changed as its fault says; all brokers are killed together and restart, the faulty one first."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest
from tools.chaos.faults.directory_faults import copied, directory_faults, flip, truncate, wipe
from tools.chaos.faults.injector import FaultInjector
from tools.chaos.faults.power import Power
from tools.chaos.plan import Fault, Kind, Target
from tools.chaos.state_reader import StateReader
from tools.chaos.still_topics import StillTopics

from signalbox.common.ids import TopicPartition
from signalbox.storage.log_config import LogConfig
from tests.storage.workbench import append, batch, new_log, offsets, reopened

TOPIC = "flights"


def directory(path: Path) -> Path:
    """A log of several segments, and another topic's log beside it."""
    log = new_log(path, LogConfig(segment_bytes=1_000))
    for offset in range(20):
        append(log, batch(1, offset=offset, size=20))
    log.close()
    (path / "other-0").mkdir()
    (path / "other-0" / "00000000000000000000.log").write_bytes(b"untouched")
    return path


def bytes_of(path: Path) -> dict[str, bytes]:
    return {str(each.relative_to(path)): each.read_bytes() for each in path.rglob("*") if each.is_file()}


def test_truncated_is_the_end_of_the_last_segment(tmp_path: Path) -> None:
    before = bytes_of(directory(tmp_path))
    truncate(TOPIC, Random(1), tmp_path)
    after = bytes_of(tmp_path)
    (changed,) = [name for name in before if after[name] != before[name]]
    assert changed == max(name for name in before if name.startswith(TOPIC) and name.endswith(".log"))
    assert before[changed].startswith(after[changed])
    assert offsets(reopened(tmp_path)) == list(range(reopened(tmp_path).log_end_offset))


def test_one_partition_alone_is_truncated(tmp_path: Path) -> None:
    before = bytes_of(directory(tmp_path))
    truncate(TopicPartition(TOPIC, 1), Random(1), tmp_path)
    assert bytes_of(tmp_path) == before
    truncate(TopicPartition(TOPIC, 0), Random(1), tmp_path)
    assert bytes_of(tmp_path) != before


def test_flipped_is_one_bit_of_the_last_segment(tmp_path: Path) -> None:
    before = bytes_of(directory(tmp_path))
    for seed in range(4):
        flip(TOPIC, Random(seed), tmp_path)
    after = bytes_of(tmp_path)
    (changed,) = [name for name in before if after[name] != before[name]]
    assert changed == max(name for name in before if name.startswith(TOPIC) and name.endswith(".log"))
    bits = sum((one ^ other).bit_count() for one, other in zip(before[changed], after[changed], strict=True))
    assert 1 <= bits <= 4


def test_a_copy_is_restored_as_it_was(tmp_path: Path) -> None:
    before = bytes_of(directory(tmp_path / "data"))
    restore = copied(tmp_path / "data")
    (tmp_path / "data" / "other-0" / "00000000000000000000.log").write_bytes(b"later")
    (tmp_path / "data" / "new").mkdir()
    restore(tmp_path / "data")
    assert bytes_of(tmp_path / "data") == before
    wipe(tmp_path / "data")
    assert not (tmp_path / "data").exists()


@pytest.mark.spec("D3")
@pytest.mark.parametrize("kind", [Kind.KILL_ALL, Kind.WIPED, Kind.ALL_RESTORED])
def test_brokers_come_back(power: Power, state: StateReader, kind: Kind) -> None:
    acts = directory_faults(power, StillTopics([], state), TOPIC, Random(1))
    before = processes(power)
    injector = FaultInjector(power.cluster, state, TOPIC, time.monotonic(), acts)
    done = injector.inject(Fault(kind, Target.ANY, 0.2, 0.0, 0.5))
    assert (done.kind, done.broker) == (kind.value, 2)
    same = [one == other for one, other in zip(before, processes(power), strict=True)]
    assert same == ([True, False, True] if kind is Kind.WIPED else [False] * 3)
    assert state.what_is_missing(3) == ""


def processes(power: Power) -> list[int]:
    return [process.pid for broker in power.cluster.brokers.values() if (process := broker.process)]
