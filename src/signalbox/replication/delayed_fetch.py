"""One fetch in progress: reads its partitions, checks whether it must wait, waits, builds the response."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from signalbox.common.cooperative_task import clear, yield_if_due
from signalbox.common.limits import MAX_FETCH_WAIT_MS
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.replication.fetch_read import Entry, FetchParams, FetchResult, read_all, rejection
from signalbox.replication.fetch_session import (
    INITIAL_EPOCH,
    NO_SESSION,
    FetchSession,
    SessionPartition,
)
from signalbox.replication.follower_progress import FollowerProgress
from signalbox.replication.hosted import HostedPartitions
from signalbox.replication.promise import Promise
from signalbox.replication.purgatory import Purgatory, WatchList
from signalbox.replication.session_cache import SessionCache


class FetchCall:
    """One fetch; a delayed operation of the purgatory if it must wait."""

    kind = "Fetch"
    __slots__ = (
        "_allowed",
        "_authorize",
        "_expected",
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
        self._expected: Callable[[], bool] | None = None
        self._authorize: Callable[[str], bool] | None = None
        self._allowed: dict[str, bool] = {}  # the authorizer's result by topic, for this fetch

    def begin(
        self,
        session: FetchSession | None,
        partitions: list[SessionPartition],
        authorize: Callable[[str], bool] | None,
    ) -> None:
        """Set the partitions to read: those of the request, or the dirty ones of its session."""
        self._session = session
        self._authorize = authorize
        if session is None:
            self._sort_out(partitions)

    def read(self, progress: FollowerProgress | None) -> None:
        """Read all partitions once; `progress` is set at the first pass of a follower's fetch."""
        if self._session is not None:
            self._sort_out(list(self._session.noisy))
        self._result = read_all(self._hosted, self._readable, self.params, progress)

    def _sort_out(self, partitions: list[SessionPartition]) -> None:
        """Resolve topic ids; separate unknown and unauthorized topics. Yields, except with a session."""
        self._readable, self._rejected = [], []
        for asked in partitions:
            if self._session is None:
                yield_if_due()
            if not asked.topic:
                asked.topic = self._hosted.topic_name(asked.key.topic_id) or ""
            if not asked.topic:
                unknown = Error.UNKNOWN_TOPIC_ID if self.params.by_topic_id else Error.UNKNOWN_TOPIC_OR_PARTITION
                self._rejected.append((asked, unknown))
            elif self._may_read(asked.topic):
                self._readable.append(asked)
            else:
                self._rejected.append((asked, Error.TOPIC_AUTHORIZATION_FAILED))

    def _may_read(self, topic: str) -> bool:
        if self._authorize is None:
            return True
        allowed = self._allowed.get(topic)
        if allowed is None:
            allowed = self._allowed[topic] = self._authorize(topic)
        return allowed

    def suffices(self) -> bool:
        """Whether the response can be sent without (further) waiting."""
        result = self._result
        return (
            result.at_once
            or result.size_bytes >= self.params.min_bytes
            or not (self._readable or (self._session is not None and self._session.anything_rests))
            or self._request.max_wait_ms <= 0
        )

    def release_incrementally(self) -> None:
        """After the response of a fetch without a session: free large lists in slices."""
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
            self._expected = lambda: progress.longest_wait_ms(replica_id, wait_ms) < wait_ms
        else:
            lists = self._commit_watchers()
        waiting = purgatory.park(self, lists, wait_ms)
        reply.on_abandon = lambda: purgatory.drop(waiting)
        return reply

    def try_complete(self) -> bool:
        self.read(None)
        if not self.suffices() and not (self._expected is not None and self._expected()):
            return False
        self._complete()
        return True

    def expire(self) -> None:
        self.read(None)
        self._complete()

    def _complete(self) -> None:
        assert self._reply is not None
        self._reply.complete(self.response())

    def _commit_watchers(self) -> Iterable[WatchList]:
        if self._session is not None:
            yield self._session.parked
        for asked in self._readable:
            partition = self._hosted.get(asked.topic, asked.key.partition)
            if partition is not None:
                yield partition.commit_watchers

    # -- response

    def response(self) -> FetchResponse:
        """The response with the result of the last pass; updates the session. Yields."""
        entries = self._result.entries
        self._count(entries)
        for asked, error in self._rejected:
            entries.append((asked, rejection(self._hosted, asked, error, tells_leader=False)))
        session, throttle = self._session, self.params.throttle
        if throttle is not None:
            for asked, data in entries:
                if data.records:
                    throttle.record(asked.topic, asked.key.partition, len(data.records))
        if session is not None:
            entries = [entry for entry in entries if entry[0].must_answer(entry[1])]
            for asked, data in entries:
                if data.records:
                    session.answered(asked)
            session_id = session.session_id if session.partitions else NO_SESSION
        elif self._request.session_epoch == INITIAL_EPOCH:
            for asked, data in entries:
                asked.must_answer(data)
            session_id = self._sessions.create([entry[0] for entry in entries], self.params.replica_id)
        else:
            session_id = NO_SESSION
        return FetchResponse(session_id=session_id, responses=_by_topic(entries))

    def _count(self, entries: list[Entry]) -> None:
        """Add the bytes that were read to the stats of their topics. Yields, except with a session."""
        from_replica = self.params.from_replica
        for asked, data in entries:
            if self._session is None:  # with a session: no yield, another request may close it meanwhile
                yield_if_due()
            stats = self._hosted.stats_of(asked.topic)
            stats.fetches += 1
            if data.error_code:
                stats.failed_fetches += 1
            elif data.records and from_replica:
                stats.replication_bytes_out += len(data.records)
            elif data.records:
                stats.bytes_out += len(data.records)


def _by_topic(entries: list[Entry]) -> list[FetchResponse.FetchableTopicResponse]:
    """Adjacent partitions of a topic share an entry; the order of the partitions is kept. Yields."""
    topics: list[FetchResponse.FetchableTopicResponse] = []
    last: tuple[str, bytes] | None = None
    for asked, data in entries:
        yield_if_due()
        key = asked.key
        named = (key.topic, key.topic_id)
        if named != last:
            topics.append(FetchResponse.FetchableTopicResponse(topic=key.topic, topic_id=key.topic_id))
            last = named
        topics[-1].partitions.append(data)
    return topics
