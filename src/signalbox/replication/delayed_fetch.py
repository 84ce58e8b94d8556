"""One fetch on its way: what it reads, whether that suffices, how it waits, what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from signalbox.common.limits import MAX_FETCH_WAIT_MS
from signalbox.common.long_work import breathe, clear
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.replication.fetch_read import Entry, FetchParams, FetchResult, read_all, refusal
from signalbox.replication.fetch_session import (
    INITIAL_EPOCH,
    NO_SESSION,
    FetchSession,
    SessionPartition,
)
from signalbox.replication.follower_progress import FollowerProgress
from signalbox.replication.hosted import HostedPartitions
from signalbox.replication.pending import Pending
from signalbox.replication.purgatory import Purgatory, WatchList
from signalbox.replication.session_cache import SessionCache


class FetchCall:
    """A delayed operation of the purgatory, if it has to wait at all."""

    __slots__ = (
        "_allowed",
        "_authorize",
        "_expected",
        "_hosted",
        "_readable",
        "_refused",
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
        self._refused: list[tuple[SessionPartition, Error]] = []
        self._result = FetchResult([])
        self._reply: Pending[FetchResponse] | None = None
        self._expected: Callable[[], bool] | None = None
        self._authorize: Callable[[str], bool] | None = None
        self._allowed: dict[str, bool] = {}  # what the authorizer has said of topics, for this fetch

    def begin(
        self,
        session: FetchSession | None,
        partitions: list[SessionPartition],
        authorize: Callable[[str], bool] | None,
    ) -> None:
        """What is to be read: the partitions of the request, or those of its session that may have news."""
        self._session = session
        self._authorize = authorize
        if session is None:
            self._sort_out(partitions)

    def read(self, progress: FollowerProgress | None) -> None:
        """One pass; `progress` is given on the first one of a follower's fetch."""
        if self._session is not None:
            self._sort_out(list(self._session.noisy))
        self._result = read_all(self._hosted, self._readable, self.params, progress)

    def _sort_out(self, partitions: list[SessionPartition]) -> None:
        """Put names to topic ids, and topics that the client may not read aside."""
        self._readable, self._refused = [], []
        for asked in partitions:
            if self._session is None:
                breathe()
            if not asked.topic:
                asked.topic = self._hosted.topic_name(asked.key.topic_id) or ""
            if not asked.topic:
                unknown = Error.UNKNOWN_TOPIC_ID if self.params.by_topic_id else Error.UNKNOWN_TOPIC_OR_PARTITION
                self._refused.append((asked, unknown))
            elif self._may_read(asked.topic):
                self._readable.append(asked)
            else:
                self._refused.append((asked, Error.TOPIC_AUTHORIZATION_FAILED))

    def _may_read(self, topic: str) -> bool:
        if self._authorize is None:
            return True
        allowed = self._allowed.get(topic)
        if allowed is None:
            allowed = self._allowed[topic] = self._authorize(topic)
        return allowed

    def suffices(self) -> bool:
        """Whether what was read is to be answered without (further) waiting."""
        result = self._result
        return (
            result.at_once
            or result.size_bytes >= self.params.min_bytes
            or not (self._readable or (self._session is not None and self._session.anything_rests))
            or self._request.max_wait_ms <= 0
        )

    def crumble(self) -> None:
        """It is answered, without a session: free what may be much bit by bit."""
        clear(self._readable)
        clear(self._refused)
        clear(self._result.entries)

    # -- waiting

    def park(self, purgatory: Purgatory, progress: FollowerProgress) -> Pending[FetchResponse]:
        """Wait for more, at most max_wait_ms; a follower's fetch ends early when it is expected elsewhere."""
        reply: Pending[FetchResponse] = Pending()
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

    # -- answering

    def response(self) -> FetchResponse:
        """The response to what the last pass found; brings the session up to date."""
        entries = self._result.entries
        for asked, error in self._refused:
            entries.append((asked, refusal(self._hosted, asked, error, tells_leader=False)))
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


def _by_topic(entries: list[Entry]) -> list[FetchResponse.FetchableTopicResponse]:
    """Neighbours of the same topic share an entry; the order of the partitions stays."""
    topics: list[FetchResponse.FetchableTopicResponse] = []
    last: tuple[str, bytes] | None = None
    for asked, data in entries:
        breathe()
        key = asked.key
        named = (key.topic, key.topic_id)
        if named != last:
            topics.append(FetchResponse.FetchableTopicResponse(topic=key.topic, topic_id=key.topic_id))
            last = named
        topics[-1].partitions.append(data)
    return topics
