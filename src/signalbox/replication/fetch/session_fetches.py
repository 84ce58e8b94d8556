"""A consumer's incremental fetch on the fast path: it is read first, and the session changes only if it is answered.

The response is that of the general path (`DelayedFetch`), which takes over in all other cases: an unknown session, an
epoch that is not the next one, partitions that are new to the session, a sweep that is due, a topic that the client may
not read, any error, and a fetch that must wait. Offsets of the request are already stored in the session then; the
general path stores the same ones again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from signalbox.common.cooperative_task import no_yield
from signalbox.common.file_slice import IsResident, NotInPageCache
from signalbox.common.limits import MAX_REQUEST_TEMPLATE_PARTITIONS
from signalbox.protocol.error_table import KafkaError
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.replication.fetch.fetch import fetch_params
from signalbox.replication.fetch.fetch_read import FetchParams, read_partition, unchanged_partition
from signalbox.replication.fetch.fetch_session import (
    Entry,
    FetchKey,
    FetchSession,
    SessionPartition,
    request_uses_topic_ids,
    requested_partitions,
)
from signalbox.replication.fetch.session_cache import SessionCache
from signalbox.replication.hosted_partitions import HostedPartitions
from signalbox.replication.partition import Partition

NO_REPLICA_EPOCH = -1


@dataclass(slots=True)
class SessionRequest:
    """What is constant in an incremental request that repeats: all but its epoch and its fetch offsets."""

    session_id: int
    uses_topic_ids: bool | None  # None: the request has no topics
    partitions: tuple[tuple[FetchKey, FetchRequest.FetchPartition], ...]
    params: FetchParams
    max_wait_ms: int


class SessionFetches:
    """Incremental fetches of one broker's consumers."""

    def __init__(
        self, hosted: HostedPartitions, sessions: SessionCache, max_bytes: int, is_resident: IsResident | None = None
    ) -> None:
        self._hosted = hosted
        self._sessions = sessions
        self._max_bytes = max_bytes
        self._is_resident = is_resident

    def request_of(self, request: FetchRequest, version: int) -> SessionRequest:
        """The constant part of a consumer's request. KafkaError INVALID_REQUEST for an unknown isolation level."""
        params = fetch_params(request, version, self._max_bytes, skips_unchanged=True)
        params.is_resident = self._is_resident
        return SessionRequest(
            request.session_id,
            request_uses_topic_ids(request),
            tuple(requested_partitions(request)),
            params,
            request.max_wait_ms,
        )

    def fetch(
        self, request: SessionRequest, epoch: int, offsets: Sequence[int], may_read: Callable[[str], bool]
    ) -> list[Entry] | None:
        """The entries of the response; None: take the general path. `offsets`: of the request's partitions."""
        session = self._sessions.find(request.session_id, epoch)
        if (
            session is None
            or session.replica_epoch != NO_REPLICA_EPOCH
            or request.uses_topic_ids not in (None, session.uses_topic_ids)
            or not _store_offsets(session, request, offsets)
            or len(session.dirty_partitions) > MAX_REQUEST_TEMPLATE_PARTITIONS
        ):
            return None
        entries: list[Entry] = []
        unchanged: list[tuple[SessionPartition, Partition]] = []
        size_bytes = 0
        for session_partition in session.dirty_partitions:
            if not session_partition.topic or not may_read(session_partition.topic):
                return None
            partition = unchanged_partition(self._hosted, session_partition, request.params)
            if partition is not None:
                unchanged.append((session_partition, partition))
                continue
            entry = self._read(session_partition, request.params, size_bytes)
            if entry is None:
                return None
            size_bytes += len(entry[1].records or b"")
            entries.append(entry)
        if size_bytes < request.params.min_bytes and request.max_wait_ms > 0:
            return None
        self._sessions.advance(session)
        for session_partition, partition in unchanged:
            session_partition.mark_clean(partition)
        for session_partition, data in entries:
            stats = self._hosted.stats_of(session_partition.topic)
            stats.fetches += 1
            stats.bytes_out += len(data.records or b"")
        return session.entries_to_send(entries)

    def _read(self, session_partition: SessionPartition, params: FetchParams, size_bytes: int) -> Entry | None:
        """One partition, after `size_bytes` of others; None if it has an error, the reader's log diverges, or a disk
        must be waited for."""
        key = session_partition.key
        try:
            partition = self._hosted.find(session_partition.topic, key.partition, key.topic_id)
            allowance = max(0, params.max_bytes - size_bytes), size_bytes == 0
            with no_yield():  # another request may close the session meanwhile
                data = read_partition(partition, session_partition, params, allowance, None)
        except (KafkaError, NotInPageCache):
            return None
        return None if data.diverging_epoch.epoch >= 0 else (session_partition, data)


def _store_offsets(session: FetchSession, request: SessionRequest, offsets: Sequence[int]) -> bool:
    """Store the request's offsets in the session. False, and nothing is stored, if a partition is new to it."""
    session_partitions = [session.partitions.get(key) for key, _ in request.partitions]
    if None in session_partitions:
        return False
    for session_partition, (_, fetch_partition), offset in zip(
        session_partitions, request.partitions, offsets, strict=True
    ):
        assert session_partition is not None
        fetch_partition.fetch_offset = offset
        session_partition.update(fetch_partition)
        session_partition.mark_dirty()
    return True
