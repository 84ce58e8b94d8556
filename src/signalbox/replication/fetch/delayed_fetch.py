"""One fetch in progress: reads its partitions, checks whether it must wait, waits, builds the response."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from signalbox.common.cooperative_task import clear, yield_if_due
from signalbox.common.file_slice import FileSlice, IsResident
from signalbox.common.limits import MAX_FETCH_WAIT_MS
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.replication.fetch.fetch_read import FetchParams, FetchResult, read_all, rejection
from signalbox.replication.fetch.fetch_session import (
    INITIAL_EPOCH,
    NO_SESSION,
    Entry,
    FetchSession,
    SessionPartition,
)
from signalbox.replication.fetch.session_cache import SessionCache
from signalbox.replication.hosted_partitions import HostedPartitions
from signalbox.replication.isr.follower_progress import FollowerProgress
from signalbox.replication.waiting.purgatory import Purgatory, WatchList

_MOST_LOOKUPS = 32  # of a fetch; further ones wait where they are


class DelayedFetch:
    """One fetch; a delayed operation of the purgatory if it must wait."""

    kind = "Fetch"
    __slots__ = (
        "_allowed",
        "_authorize",
        "_ends_early",
        "_hosted",
        "_readable",
        "_rejected",
        "_reply",
        "_request",
        "_result",
        "_session",
        "_sessions",
        "params",
    )

    def __init__(
        self, hosted: HostedPartitions, sessions: SessionCache, request: FetchRequest, params: FetchParams
    ) -> None:
        self._hosted = hosted
        self._sessions = sessions
        self._request = request
        self.params = params
        self._session: FetchSession | None = None
        self._readable: list[SessionPartition] = []
        self._rejected: list[tuple[SessionPartition, Error]] = []
        self._result = FetchResult([])
        self._reply: Promise[FetchResponse] | None = None
        self._ends_early: Callable[[], bool] | None = None
        self._authorize: Callable[[str], bool] | None = None
        self._allowed: dict[str, bool] = {}  # the authorizer's result by topic, for this fetch

    def begin(
        self,
        session: FetchSession | None,
        partitions: list[SessionPartition],
        authorize: Callable[[str], bool] | None,
    ) -> None:
        """Set the partitions to read: those of the request, or the dirty ones of its session. Yields."""
        self._session = session
        self._authorize = authorize
        if session is None:
            self._sort_by_error(partitions)

    def uncached_lookups(self, is_resident: IsResident) -> list[FileSlice]:
        """Pages that are not in memory and that the search of the offsets would wait for: of a consumer or follower
        that is far behind. Yields, except with a session."""
        return list(islice(self._uncached_lookups(is_resident), _MOST_LOOKUPS))

    def _uncached_lookups(self, is_resident: IsResident) -> Iterator[FileSlice]:
        """Yields, as the method above does."""
        session = self._session
        for session_partition in self._readable if session is None else session.dirty_partitions:
            if session is None:
                yield_if_due()
            partition = self._hosted.get(session_partition.topic, session_partition.key.partition)
            log = None if partition is None else partition.log
            if log is not None and session_partition.fetch_offset < log.log_end_offset:
                piece = log.uncached_lookup(session_partition.fetch_offset, is_resident)
                if piece is not None:
                    yield piece

    def read(self, progress: FollowerProgress | None) -> None:
        """Read all partitions once; `progress` is set at the first pass of a follower's fetch. Yields."""
        if self._session is not None:
            self._sort_by_error(list(self._session.dirty_partitions))
        self._result = read_all(self._hosted, self._readable, self.params, progress)

    def _sort_by_error(self, partitions: list[SessionPartition]) -> None:
        """Resolve topic ids; separate unknown and unauthorized topics. Yields, except with a session."""
        self._readable, self._rejected = [], []
        for session_partition in partitions:
            if self._session is None:
                yield_if_due()
            if not session_partition.topic:
                session_partition.topic = self._hosted.topic_name(session_partition.key.topic_id) or ""
            if not session_partition.topic:
                unknown = Error.UNKNOWN_TOPIC_ID if self.params.by_topic_id else Error.UNKNOWN_TOPIC_OR_PARTITION
                self._rejected.append((session_partition, unknown))
            elif self._is_authorized(session_partition.topic):
                self._readable.append(session_partition)
            else:
                self._rejected.append((session_partition, Error.TOPIC_AUTHORIZATION_FAILED))

    def _is_authorized(self, topic: str) -> bool:
        if self._authorize is None:
            return True
        allowed = self._allowed.get(topic)
        if allowed is None:
            allowed = self._allowed[topic] = self._authorize(topic)
        return allowed

    def can_complete(self) -> bool:
        """Whether the response can be sent without (further) waiting."""
        result = self._result
        return (
            result.completes_at_once
            or result.size_bytes >= self.params.min_bytes
            or not (self._readable or (self._session is not None and self._session.has_clean_partitions))
            or self._request.max_wait_ms <= 0
        )

    def release_incrementally(self) -> None:
        """After the response of a fetch without a session: free large lists in slices. Yields."""
        clear(self._readable)
        clear(self._rejected)
        clear(self._result.entries)

    # -- waiting

    def park(self, purgatory: Purgatory, progress: FollowerProgress) -> Promise[FetchResponse]:
        """Wait up to max_wait_ms for more; a follower's fetch ends early if other partitions wait for its fetch."""
        reply: Promise[FetchResponse] = Promise()
        self._reply = reply
        wait_ms = min(self._request.max_wait_ms, MAX_FETCH_WAIT_MS)
        if self.params.from_replica:
            replica_id = self.params.replica_id
            wait_ms = progress.longest_wait_ms(replica_id, wait_ms)
            lists: Iterable[WatchList] = (purgatory.of_replica(replica_id),)
            self._ends_early = lambda: progress.longest_wait_ms(replica_id, wait_ms) < wait_ms
        else:
            lists = self._commit_watchers()
        purgatory.park(self, lists, wait_ms)
        return reply

    def try_complete(self) -> bool:
        """Yields."""
        self.read(None)
        if not self.can_complete() and not (self._ends_early is not None and self._ends_early()):
            return False
        self._complete()
        return True

    def expire(self) -> None:
        """Yields."""
        self.read(None)
        self._complete()

    def _complete(self) -> None:
        """Yields."""
        assert self._reply is not None
        self._reply.complete(self.response())

    def _commit_watchers(self) -> Iterable[WatchList]:
        if self._session is not None:
            yield self._session.parked
        for session_partition in self._readable:
            partition = self._hosted.get(session_partition.topic, session_partition.key.partition)
            if partition is not None:
                yield partition.commit_watchers

    # -- response

    def response(self) -> FetchResponse:
        """The response with the result of the last pass; updates the session. Yields."""
        entries = self._result.entries
        self._update_stats(entries)
        for session_partition, error in self._rejected:
            entries.append(
                (session_partition, rejection(self._hosted, session_partition, error, with_current_leader=False))
            )
        session, throttle = self._session, self.params.throttle
        if throttle is not None:
            for session_partition, data in entries:
                if data.records:
                    throttle.record(session_partition.topic, session_partition.key.partition, len(data.records))
        if session is not None:
            entries = session.entries_to_send(entries)
            session_id = session.session_id if session.partitions else NO_SESSION
        elif self._request.session_epoch == INITIAL_EPOCH:
            for session_partition, data in entries:
                session_partition.must_include(data)
            session_id = self._sessions.create([entry[0] for entry in entries], self.params.replica_id)
        else:
            session_id = NO_SESSION
        return FetchResponse(session_id=session_id, responses=entries_by_topic(entries))

    def _update_stats(self, entries: list[Entry]) -> None:
        """Add the bytes that were read to the stats of their topics. Yields, except with a session."""
        from_replica = self.params.from_replica
        for session_partition, data in entries:
            if self._session is None:  # with a session: no yield, another request may close it meanwhile
                yield_if_due()
            stats = self._hosted.stats_of(session_partition.topic)
            stats.fetches += 1
            if data.error_code:
                stats.failed_fetches += 1
            elif data.records and from_replica:
                stats.replication_bytes_out += len(data.records)
            elif data.records:
                stats.bytes_out += len(data.records)


def entries_by_topic(entries: list[Entry]) -> list[FetchResponse.FetchableTopicResponse]:
    """Adjacent partitions of a topic share an entry; the order of the partitions is kept. Yields."""
    topics: list[FetchResponse.FetchableTopicResponse] = []
    last_key: tuple[str, bytes] | None = None
    for session_partition, data in entries:
        yield_if_due()
        key = session_partition.key
        topic_key = (key.topic, key.topic_id)
        if topic_key != last_key:
            topics.append(FetchResponse.FetchableTopicResponse(topic=key.topic, topic_id=key.topic_id))
            last_key = topic_key
        topics[-1].partitions.append(data)
    return topics
