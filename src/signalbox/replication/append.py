"""The produce path: batches into the logs, answers when the promise of `acks` holds.

`append_to` is the whole path for one partition, hot shape or not: role, replicas in sync, then the log, which
validates the batch, knows duplicates and queues it. Logs write what a turn of the loop has queued together at its end
and tell each ticket; acks=all then waits for the high watermark. A request's tickets are joined by `ProduceOutcome`,
which also holds the deadline of acks=all. Refusals are finished tickets: nothing here raises KafkaError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.replication.append_ticket import ACKS_ALL, AppendTicket, refused
from signalbox.replication.deadlines import Deadline, Deadlines
from signalbox.replication.hosted import HostedPartitions
from signalbox.replication.pending import Pending
from signalbox.replication.purgatory import AtTurnEnd

Batch = bytearray | memoryview | bytes
VALID_ACKS = (0, 1, ACKS_ALL)
INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state"})


class Appends:
    """The produce door of one broker. `flush` writes what all logs have queued."""

    def __init__(
        self, hosted: HostedPartitions, deadlines: Deadlines, at_turn_end: AtTurnEnd, flush: Callable[[], None]
    ) -> None:
        self._hosted = hosted
        self._deadlines = deadlines
        self._at_turn_end = at_turn_end
        self._flush = flush
        self._armed = False

    def append(
        self,
        entries: Sequence[tuple[tuple[str, int], Batch]],
        acks: int,
        timeout_ms: int,
        now_ms: int,
        *,
        from_client: bool = True,
    ) -> ProduceOutcome:
        """Append one batch per (topic, partition). The outcome holds a ticket per entry, in their order."""
        tickets = [
            self._append_one(topic, index, batch, acks, now_ms, from_client) for (topic, index), batch in entries
        ]
        return self.outcome(tickets, timeout_ms)

    def append_to(self, ticket: AppendTicket, batch: Batch, now_ms: int, from_client: bool = True) -> None:
        """One batch into the ticket's partition, which was found before. The ticket may finish at once."""
        partition = ticket.partition
        assert partition is not None
        log = partition.log
        if not partition.is_leader or log is None:
            error = Error.KAFKA_STORAGE_ERROR if partition.is_offline else Error.NOT_LEADER_OR_FOLLOWER
            partition.refused.note(batch, error, log.producers if log is not None else {}, now_ms)
            ticket.fail(error)
            return
        if partition.refused.by_producer:
            missing = partition.refused.error_for(batch, log.producers, now_ms)
            if missing is not None:
                ticket.fail(missing, "an earlier batch of this producer was refused and must come first")
                return
        if ticket.acks == ACKS_ALL and not partition.has_enough_in_sync:
            partition.refused.note(batch, Error.NOT_ENOUGH_REPLICAS, log.producers, now_ms)
            ticket.fail(
                Error.NOT_ENOUGH_REPLICAS,
                f"{len(partition.isr)} replicas in sync, min.insync.replicas is {partition.effective_min_isr}",
            )
            return
        if not self._armed:
            self._armed = True
            self._at_turn_end(self._end_turn)
        try:
            log.append_as_leader(batch, partition.leader_epoch, now_ms, ticket.written, from_client)
        except KafkaError as error:
            ticket.fail(error.error, error.message)

    def outcome(self, tickets: list[AppendTicket], timeout_ms: int) -> ProduceOutcome:
        """The answer of a request with these tickets."""
        return ProduceOutcome(tickets, timeout_ms, self._deadlines)

    def flush(self) -> None:
        """Write what is queued now, before the turn ends."""
        self._flush()

    def _end_turn(self) -> None:
        self._armed = False
        self._flush()

    def _append_one(
        self, topic: str, index: int, batch: Batch, acks: int, now_ms: int, from_client: bool
    ) -> AppendTicket:
        if acks not in VALID_ACKS:
            return refused(None, Error.INVALID_REQUIRED_ACKS, f"acks {acks}: 0, 1 or -1 (all) are allowed")
        if from_client and topic in INTERNAL_TOPICS:
            return refused(None, Error.INVALID_TOPIC_EXCEPTION, f"{topic} is written by the broker alone")
        try:
            partition = self._hosted.find(topic, index)
        except KafkaError as error:
            self._hosted.refused_sequences(topic, index).note(batch, Error.NOT_LEADER_OR_FOLLOWER, {}, now_ms)
            return refused(self._hosted.get(topic, index), error.error, error.message)
        ticket = AppendTicket(partition, acks)
        self.append_to(ticket, batch, now_ms, from_client)
        return ticket


class ProduceOutcome(Pending[list[AppendTicket]]):
    """The answer of a produce request: its tickets, in the order of the request, once all are finished."""

    __slots__ = ("_deadline", "_open", "tickets")

    def __init__(self, tickets: list[AppendTicket], timeout_ms: int, deadlines: Deadlines) -> None:
        super().__init__()
        self.tickets = tickets
        self._deadline: Deadline | None = None
        waiting = [ticket for ticket in tickets if not ticket.done]
        self._open = len(waiting)
        if not waiting:
            self.complete(tickets)
            return
        if any(ticket.acks == ACKS_ALL for ticket in waiting):
            self._deadline = deadlines.add(timeout_ms, self._expire)
        for ticket in waiting:
            ticket.then(self._take)

    def _take(self, ticket: AppendTicket) -> None:
        self._open -= 1
        if self._open == 0:
            if self._deadline is not None:
                self._deadline.cancel()
            self.complete(self.tickets)

    def _expire(self) -> None:
        """The replicas were too slow; what they have not confirmed may still become committed."""
        self._deadline = None
        for ticket in self.tickets:
            if not ticket.done:
                ticket.fail(Error.REQUEST_TIMED_OUT)
