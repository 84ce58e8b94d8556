"""Incremental fetches that are read before their session changes. Equality with the general path:
tests/broker/fast_path/test_fast_fetch_sessions.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.replication.fetch.fetch_session import SWEEP_EVERY_MS, FetchSession
from signalbox.replication.fetch.session_fetches import SessionRequest
from signalbox.replication.replica_manager import ReplicaManager
from tests.replication.memory_cluster import TOPIC, MemoryCluster

pytestmark = pytest.mark.spec("D1")

_VERSION = 12


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MemoryCluster]:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.create([1], 2)
    cluster.run()
    yield cluster
    cluster.brokers[1].manager.close()
    cluster.brokers[1].logs.close()


def fetch_of(*partitions: int, last_fetched_epoch: int = -1, **fields: Any) -> FetchRequest:
    named = [
        FetchRequest.FetchPartition(partition=index, partition_max_bytes=100, last_fetched_epoch=last_fetched_epoch)
        for index in partitions
    ]
    topics = [FetchRequest.FetchTopic(topic=TOPIC, partitions=named)] if partitions else []
    return FetchRequest(topics=topics, min_bytes=0, max_bytes=1000, **fields)


def started(manager: ReplicaManager) -> FetchSession:
    created = manager.fetches.fetch(fetch_of(0, session_epoch=0), _VERSION).result()
    session = manager.sessions.find(created.session_id, 1)
    assert session is not None
    return session


def request_of(manager: ReplicaManager, session: FetchSession, *partitions: int) -> SessionRequest:
    request = fetch_of(*partitions, session_id=session.session_id, session_epoch=session.epoch)
    return manager.session_fetches.request_of(request, _VERSION)


def test_an_answered_fetch_moves_the_session_to_its_next_epoch(cluster: MemoryCluster) -> None:
    manager = cluster.brokers[1].manager
    session = started(manager)
    assert manager.session_fetches.fetch(request_of(manager, session, 0), 1, [0], lambda _: True) == []
    assert session.epoch == 2
    assert session.has_clean_partitions


@pytest.mark.parametrize("epoch", [0, 2])
def test_another_epoch_changes_nothing(cluster: MemoryCluster, epoch: int) -> None:
    manager = cluster.brokers[1].manager
    session = started(manager)
    assert manager.session_fetches.fetch(request_of(manager, session), epoch, [], lambda _: True) is None
    assert session.epoch == 1


def test_the_general_path_takes_over(cluster: MemoryCluster) -> None:
    manager = cluster.brokers[1].manager
    session = started(manager)
    fetch, known = manager.session_fetches.fetch, request_of(manager, session, 0)
    assert fetch(request_of(manager, session, 1), 1, [0], lambda _: True) is None, "new to the session"
    assert fetch(known, 1, [0], lambda _: False) is None, "not readable"
    assert fetch(known, 1, [7], lambda _: True) is None, "out of range"
    cluster.advance(SWEEP_EVERY_MS)
    assert fetch(known, 1, [0], lambda _: True) is None, "a sweep is due"
    assert session.epoch == 1


def test_the_general_path_returns_where_the_log_diverges(cluster: MemoryCluster) -> None:
    manager = cluster.brokers[1].manager
    cluster.produce(1, b"0", acks=1)
    cluster.run()
    cluster.elect(1, isr=[1])
    cluster.produce(1, b"1", acks=1)
    cluster.run()
    session = started(manager)
    request = fetch_of(0, session_id=session.session_id, session_epoch=1, last_fetched_epoch=0)
    known = manager.session_fetches.request_of(request, _VERSION)
    fetch = manager.session_fetches.fetch
    assert fetch(known, 1, [2], lambda _: True) is None, "epoch 0 ended at offset 1"
    assert session.epoch == 1
    assert fetch(known, 1, [1], lambda _: True) is not None
