"""A fetch whose offset is on a page that is not in memory waits for a thread, not on the event loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from signalbox.common.file_slice import FileSlice
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.replication.fetch.fetch_read import Isolation, read_fast_path
from tests.replication.memory_cluster import (
    FETCH_VERSION,
    TOPIC_ID,
    MemoryCluster,
    fetch_request,
    over_the_wire,
    partition_data,
    values_of,
)

pytestmark = pytest.mark.spec("C5")


class UncachedFiles:
    """Nothing is in memory before `finish` has read it."""

    def __init__(self) -> None:
        self.pending: list[tuple[FileSlice, Callable[[], None]]] = []
        self._read: set[tuple[int, int]] = set()

    def is_resident(self, piece: FileSlice) -> bool:
        return (piece.fd, piece.position) in self._read

    def prefetch(self, piece: FileSlice, done: Callable[[], None]) -> None:
        self.pending.append((piece, done))

    def finish(self, most: int = 1_000) -> None:
        for _ in range(min(most, len(self.pending))):
            piece, done = self.pending.pop(0)
            assert piece.read()
            self._read.add((piece.fd, piece.position))
            done()


def restarted(tmp_path: Path, partitions: int = 1) -> tuple[MemoryCluster, UncachedFiles]:
    """A broker that has not read or written its logs since its start: it must search every offset in a file."""
    cluster, files = MemoryCluster(tmp_path, [1]), UncachedFiles()
    cluster.create([1], partitions)
    for index in range(partitions):
        for value in (b"a", b"b", b"c"):
            cluster.produce(1, value, index=index)
    cluster.run()
    cluster.kill(1)
    cluster.page_reads = files
    cluster.start(1)
    cluster.tell_one(1)
    cluster.run()
    return cluster, files


def fetch(cluster: MemoryCluster, request: FetchRequest) -> Promise[FetchResponse]:
    return cluster.brokers[1].manager.fetches.fetch(over_the_wire(request, FETCH_VERSION), FETCH_VERSION)


def of_partitions(count: int) -> FetchRequest:
    partitions = [
        FetchRequest.FetchPartition(partition=index, fetch_offset=1, partition_max_bytes=1_000)
        for index in range(count)
    ]
    topic = FetchRequest.FetchTopic(topic_id=TOPIC_ID, partitions=partitions)
    return FetchRequest(max_bytes=1 << 20, min_bytes=1, topics=[topic], session_epoch=-1)


def test_the_response_comes_after_the_page(tmp_path: Path) -> None:
    cluster, files = restarted(tmp_path)
    answer = fetch(cluster, fetch_request(1))
    assert (answer.is_done, len(files.pending)) == (False, 1)
    files.finish()
    assert values_of(partition_data(answer.result()).records) == [b"b", b"c"]
    assert fetch(cluster, fetch_request(1)).is_done, "the page is in memory now"


def test_it_comes_after_the_last_of_several_pages(tmp_path: Path) -> None:
    cluster, files = restarted(tmp_path, partitions=3)
    answer = fetch(cluster, of_partitions(3))
    files.finish(2)
    assert not answer.is_done
    files.finish(1)
    entries = answer.result().responses[0].partitions
    assert [values_of(entry.records) for entry in entries] == [[b"b", b"c"]] * 3


def test_an_offset_that_needs_no_search_waits_for_no_page(tmp_path: Path) -> None:
    cluster, files = restarted(tmp_path)
    for offset, error in ((3, Error.NONE), (7, Error.OFFSET_OUT_OF_RANGE)):
        assert partition_data(fetch(cluster, fetch_request(offset)).result()).error_code == error
    cluster.produce(1, b"d")
    cluster.run()
    assert values_of(partition_data(fetch(cluster, fetch_request(3)).result()).records) == [b"d"]
    assert files.pending == []


def test_a_session_is_read_after_the_page_too(tmp_path: Path) -> None:
    cluster, files = restarted(tmp_path)
    created = fetch(cluster, fetch_request(1, session=(0, 0)))
    files.finish()
    session_id = created.result().session_id
    assert values_of(partition_data(created.result()).records) == [b"b", b"c"]
    repeated = fetch(cluster, fetch_request(1, session=(session_id, 1)))
    assert values_of(partition_data(repeated.result()).records) == [b"b", b"c"]


def test_a_follower_catches_up_from_pages_that_are_not_in_memory(tmp_path: Path) -> None:
    cluster, files = MemoryCluster(tmp_path, [1, 2]), UncachedFiles()
    cluster.create([1, 2])
    cluster.run()
    cluster.kill(2)
    cluster.elect(1, isr=[1])
    for value in (b"a", b"b", b"c"):
        cluster.produce(1, value)
    cluster.run()
    cluster.kill(1)
    cluster.page_reads = files
    cluster.start(1)
    cluster.start(2)
    cluster.tell()
    cluster.advance(200)
    assert (values_of(cluster.brokers[2].content()), len(files.pending)) == ([], 1)
    while files.pending:
        files.finish()
        cluster.advance(200)
    assert values_of(cluster.brokers[2].content()) == [b"a", b"b", b"c"]
    assert sorted(next(iter(cluster.view.rows.values())).isr) == [1, 2]


def test_the_fast_path_leaves_it_to_the_general_path(tmp_path: Path) -> None:
    cluster, files = restarted(tmp_path)
    manager, partition = cluster.brokers[1].manager, cluster.brokers[1].partition()
    read = (partition, 1, 1_000, Isolation.READ_UNCOMMITTED, files.is_resident)
    assert read_fast_path(*read) is None
    created = fetch(cluster, fetch_request(1, session=(0, 0)))
    files.finish()
    assert read_fast_path(*read) is not None
    files._read.clear()
    request = over_the_wire(fetch_request(1, session=(created.result().session_id, 1)), FETCH_VERSION)
    known = manager.session_fetches.request_of(request, FETCH_VERSION)
    assert manager.session_fetches.fetch(known, 1, [1], lambda _: True) is None


def test_a_partition_that_is_deleted_meanwhile_is_an_error(tmp_path: Path) -> None:
    cluster, files = restarted(tmp_path)
    answer = fetch(cluster, fetch_request(1))
    cluster.stop_replica(1, delete=True)
    cluster.run()
    files.finish()
    assert partition_data(answer.result()).error_code == Error.NOT_LEADER_OR_FOLLOWER


def test_only_so_many_pages_are_read_for_one_fetch(tmp_path: Path) -> None:
    cluster, files = restarted(tmp_path, partitions=40)
    answer = fetch(cluster, of_partitions(40))
    assert len(files.pending) == 32
    files.finish()
    assert len(answer.result().responses[0].partitions) == 40


def test_an_error_of_the_read_reaches_the_fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, files = restarted(tmp_path)
    answer = fetch(cluster, fetch_request(1))

    def fail(*_: object) -> None:
        raise RuntimeError("as the test asks")

    monkeypatch.setattr(cluster.brokers[1].manager.fetches, "_read", fail)
    files.finish()
    with pytest.raises(RuntimeError, match="as the test asks"):
        answer.result()
