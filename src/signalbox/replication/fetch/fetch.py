"""Fetch, for consumers and followers: sessions, one pass over the logs, waiting for more (versions 4 to 18).

The response is sent at once if there are min_bytes, if a partition has an error or diverges, if max_wait_ms is 0 or if
no partition can be read. Otherwise the fetch is parked in the watch lists of its partitions: followers wait for
appends, consumers for the high watermark; when it wakes, it reads again. A follower's fetch first reports its log end,
which may commit records and add the follower to the ISR. As in Kafka, a topic that the client may not read, or
whose id is unknown, does not complete a fetch of other topics early: a client that repeats such a fetch must not loop
without delay.

Not implemented: a preferred read replica (replica.selector.class).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from signalbox.common.cooperative_task import clear, yield_if_due
from signalbox.common.file_slice import PageReads
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import KafkaError
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.replication.fetch.delayed_fetch import DelayedFetch
from signalbox.replication.fetch.fetch_read import FetchParams, Isolation, client_isolation
from signalbox.replication.fetch.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    FetchSession,
    SessionPartition,
    requested_partitions,
)
from signalbox.replication.fetch.session_cache import SessionCache
from signalbox.replication.hosted_partitions import HostedPartitions
from signalbox.replication.isr.follower_progress import FollowerProgress
from signalbox.replication.throttle import ReplicationThrottle
from signalbox.replication.waiting.purgatory import Purgatory

Authorize = Callable[[str], bool]
_FOLLOWERS_READ_FROM_VERSION = 11
_TOPIC_IDS_FROM_VERSION = 13
_CURRENT_LEADER_FROM_VERSION = 16


def replica_id_of(request: FetchRequest) -> int:
    """The id of the broker that fetches, -1 for consumers (the field moved in version 15)."""
    replica_id = request.replica_state.replica_id
    return replica_id if replica_id >= 0 else request.replica_id


@dataclass(slots=True)
class FetchLimits:
    """`max_bytes` of a consumer's response; `throttle` holds back followers that are not in sync."""

    max_bytes: int
    throttle: ReplicationThrottle


@dataclass(slots=True)
class FileReads:
    """`page_reads` reads pages that are not in memory outside of the event loop; `run_long` runs what comes after it as
    a cooperative task."""

    page_reads: PageReads
    run_long: Callable[[Callable[[], None]], None]


class Fetches:
    """Fetch on one broker."""

    def __init__(
        self,
        hosted: HostedPartitions,
        sessions: SessionCache,
        purgatory: Purgatory,
        progress: FollowerProgress,
        limits: FetchLimits,
        files: FileReads,
    ) -> None:
        self._hosted = hosted
        self._sessions = sessions
        self._purgatory = purgatory
        self._progress = progress
        self._max_bytes = limits.max_bytes
        self._throttle = limits.throttle
        self._files = files

    def fetch(self, request: FetchRequest, version: int, authorize: Authorize | None = None) -> Promise[FetchResponse]:
        """The response, now or later. `authorize` returns whether the client may read a topic (None: all).
        `node_endpoints` stays empty: they depend on the listener, so the handler fills them in. Yields."""
        try:
            session, partitions = self._session_of(request)
            params = fetch_params(request, version, self._max_bytes, skips_unchanged=session is not None)
            if params.from_replica and self._throttle.is_set:
                params.throttle = self._throttle
        except KafkaError as error:
            return Promise.of(FetchResponse(error_code=error.error, session_id=NO_SESSION))
        call = DelayedFetch(self._hosted, self._sessions, request, params)
        call.begin(session, partitions, authorize)
        uncached = call.uncached_lookups(self._files.page_reads.is_resident)
        if not uncached:
            return self._read(call, session, partitions)
        reply: Promise[FetchResponse] = Promise()
        missing = len(uncached)

        def read() -> None:
            try:
                answer = self._read(call, session, partitions)
            except Exception as error:
                reply.fail(error)
            else:
                answer.forward_to(reply)

        def count() -> None:
            nonlocal missing
            missing -= 1
            if not missing:
                self._files.run_long(read)

        for piece in uncached:
            self._files.page_reads.prefetch(piece, count)
        return reply

    def _read(
        self, call: DelayedFetch, session: FetchSession | None, partitions: list[SessionPartition]
    ) -> Promise[FetchResponse]:
        """Reads once; the response, now or later. Yields."""
        if call.params.from_replica:
            call.read(self._progress)
            self._progress.dispatch_isr_changes()
        else:
            call.read(None)
        if call.can_complete():
            response = call.response()
            if session is None:
                call.release_incrementally()
                clear(partitions)
            return Promise.of(response)
        return call.park(self._purgatory, self._progress)

    def withdraw(self, request: FetchRequest, response: FetchResponse) -> None:
        """The response is not sent, because its client is throttled: a session that it created is closed, an older
        session returns these partitions again at its next fetch. The bytes are subtracted from the stats."""
        for topic in response.responses:
            stats = self._hosted.stats_of(topic.topic or self._hosted.topic_name(topic.topic_id) or "")
            stats.bytes_out -= sum(len(partition.records or b"") for partition in topic.partitions)
        if request.session_epoch == INITIAL_EPOCH:
            self._sessions.close(response.session_id)
            response.session_id = NO_SESSION
        else:
            self._sessions.mark_unsent(response)

    def _session_of(self, request: FetchRequest) -> tuple[FetchSession | None, list[SessionPartition]]:
        """Yields."""
        if request.session_epoch not in (INITIAL_EPOCH, FINAL_EPOCH):
            return self._sessions.resume(request), []
        if request.session_id != NO_SESSION:
            self._sessions.close(request.session_id)
        partitions = []
        for key, fetch_partition in requested_partitions(request):
            partitions.append(SessionPartition(key, fetch_partition))
            yield_if_due()
        return None, partitions


def fetch_params(request: FetchRequest, version: int, consumer_max_bytes: int, *, skips_unchanged: bool) -> FetchParams:
    """The parameters of a request. INVALID_REQUEST for an unknown isolation level."""
    replica_id = replica_id_of(request)
    if replica_id >= 0:
        isolation, max_bytes = Isolation.LOG_END, request.max_bytes
    else:
        isolation, max_bytes = client_isolation(request.isolation_level), min(request.max_bytes, consumer_max_bytes)
    return FetchParams(
        replica_id=replica_id,
        replica_epoch=request.replica_state.replica_epoch,
        isolation=isolation,
        max_bytes=max_bytes,
        min_bytes=min(request.min_bytes, max_bytes),
        only_from_leader=replica_id >= 0 or version < _FOLLOWERS_READ_FROM_VERSION,
        with_current_leader=version >= _CURRENT_LEADER_FROM_VERSION,
        skips_unchanged=skips_unchanged,
        by_topic_id=version >= _TOPIC_IDS_FROM_VERSION,
    )
