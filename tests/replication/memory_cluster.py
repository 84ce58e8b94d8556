"""Replica managers of several brokers over real storage in one process; the test delivers their encoded messages.

The controller is a table: partitions with leader, ISR and epochs, changed by `elect`, by AlterPartition and by kills.
Time does not pass until `advance`. A killed broker loses the queued appends of its logs; its files stay.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from signalbox.common.clock import ManualClock
from signalbox.common.file_slice import AllResident, PageReads
from signalbox.common.ids import TopicPartition
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.protocol import own_tags
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest
from signalbox.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from signalbox.protocol.records.record_batch import Record, decode_records, encode_batch
from signalbox.replication.config_rows import ReplicationConfig
from signalbox.replication.follower.leader_channel import OnResponse, ReconnectingChannel, ReconnectingChannels
from signalbox.replication.partition import Partition
from signalbox.replication.ports import TopicSettings
from signalbox.replication.replica_dependencies import Dependencies, Scheduler
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.storage.files.file_system import FileSystem, RealFileSystem
from signalbox.storage.log_manager import LogManager
from tests.common.waiting.manual_time import ManualIterations, ManualTimers
from tests.replication.memory_view import TOPIC as TOPIC
from tests.replication.memory_view import TOPIC_ID as TOPIC_ID
from tests.replication.memory_view import MemoryConfigs, MemoryView, PartitionRow

FETCH_VERSION = 18
CLUSTER_ID = "test-cluster"
MOST_DELIVERIES = 20_000  # per call of `run`, without time passing; random histories need a few hundred


def batch_of(*values: bytes, producer_id: int = -1, producer_epoch: int = 0, sequence: int = 0) -> bytearray:
    """A batch of records with these values, as sent by a producer."""
    idempotent = producer_id >= 0
    return bytearray(
        encode_batch(
            [Record(value=value) for value in values],
            timestamp_ms=ManualClock().now_ms(),
            producer_id=producer_id,
            producer_epoch=producer_epoch if idempotent else -1,
            base_sequence=sequence if idempotent else -1,
        )
    )


def bytes_of(records: Any) -> bytes:
    """The bytes of a records field, in memory or in a file."""
    if records is None:
        return b""
    return bytes(records.read()) if hasattr(records, "read") else bytes(records)


def values_of(records: Any) -> list[bytes | None]:
    return [record.value for record in decode_records(bytes_of(records), allow_partial_tail=True)]


def over_the_wire(message: Any, version: int) -> Any:
    """The message after encoding and decoding."""
    encoded = b"".join(bytes_of(chunk) for chunk in message.encode_chunks(version))
    return type(message).decode(memoryview(bytearray(encoded)), version)


class MemoryChannel(ReconnectingChannel):
    """Requests are queued in the cluster's mail until they are delivered."""

    def __init__(self, cluster: MemoryCluster, sender: int, receiver: int) -> None:
        self.cluster, self.sender, self.receiver = cluster, sender, receiver
        self.life, self.closed = cluster.brokers[sender].life, False

    def send(self, request: Any, on_response: OnResponse) -> None:
        self.cluster.mail.append(lambda: self._deliver(request, on_response))

    def reconnect(self) -> None:
        """Does nothing: there is only one connection to each broker."""

    def close(self) -> None:
        self.closed = True

    def _answer(self, on_response: OnResponse, answer: Any) -> None:
        sender = self.cluster.brokers.get(self.sender)
        if not self.closed and sender is not None and sender.life == self.life:
            on_response(answer)

    def _deliver(self, request: Any, on_response: OnResponse) -> None:
        receiver = self.cluster.brokers.get(self.receiver)
        if self.closed:
            return
        if receiver is None or (self.sender, self.receiver) in self.cluster.cut:
            self._answer(on_response, ConnectionError(f"broker {self.receiver} is down"))
            return
        answered: list[bool] = []

        def reply(answer: Any) -> None:
            if not answered:
                answered.append(True)
                self.cluster.mail.append(lambda: self._answer(on_response, answer))

        receiver.at_kill.append(lambda: reply(ConnectionError(f"broker {self.receiver} was killed")))
        receiver.serve(request, reply)


class MemoryAlterPartition:
    """The `AlterPartitionSender` port."""

    def __init__(self, cluster: MemoryCluster, broker_id: int) -> None:
        self.cluster = cluster
        self.broker_id = broker_id

    def send(
        self, request: AlterPartitionRequest, on_response: Callable[[AlterPartitionResponse | Error], None]
    ) -> None:
        request = over_the_wire(request, 3)
        life = self.cluster.brokers[self.broker_id].life

        def deliver() -> None:
            answer = self.cluster.alter_partition(request)
            broker = self.cluster.brokers.get(self.broker_id)
            if broker is not None and broker.life == life:
                on_response(answer)

        self.cluster.mail.append(deliver)


class MemoryBroker:
    """One run of a broker, from start to kill."""

    def __init__(self, cluster: MemoryCluster, broker_id: int, file_system: FileSystem | None = None) -> None:
        self.broker_id = broker_id
        self.life = cluster.next_life()
        self.at_kill: list[Callable[[], None]] = []  # called by `kill`: the broker's connections close
        cluster.brokers[broker_id] = self
        self.timers = ManualTimers(cluster.clock)
        self.iterations = ManualIterations()
        self.logs = LogManager([str(cluster.folder / str(broker_id))], file_system or RealFileSystem(), cluster.clock)
        self.logs.start(CLUSTER_ID, broker_id)
        life = self.life
        dependencies = Dependencies(
            broker_id=broker_id,
            broker_epoch=lambda: life,
            cluster=cluster.view,
            configs=cluster.configs,
            alter_partition=MemoryAlterPartition(cluster, broker_id),
            leaders=_Channels(cluster, broker_id),
        )
        self.manager = ReplicaManager(
            self.logs,
            dependencies,
            Scheduler(
                Deadlines(cluster.clock, self.timers),
                self.iterations,
                lambda work: work(),
                page_reads=cluster.page_reads,
            ),
            cluster.config,
            random.Random(broker_id),
        )
        self.manager.start()

    def serve(self, request: Any, answer: Callable[[Any], None]) -> None:
        """Responds to a peer's request."""
        if isinstance(request, FetchRequest):
            arrived = over_the_wire(request, FETCH_VERSION)
            self.manager.fetches.fetch(arrived, FETCH_VERSION).then(
                lambda response: answer(over_the_wire(response, FETCH_VERSION))
            )
        else:
            assert isinstance(request, ListOffsetsRequest)
            listed = self.manager.list_offsets(over_the_wire(request, 9), 9)
            listed.then(lambda response: answer(over_the_wire(response, 9)))

    def partition(self, index: int = 0) -> Partition:
        found = self.manager.partition(TOPIC, index)
        assert found is not None
        return found

    def content(self, index: int = 0, end: int | None = None) -> bytes:
        """The log's bytes from the log start to `end` (default: the log end)."""
        log = self.logs.get(TopicPartition(TOPIC, index))
        assert log is not None
        offset, pieces = log.log_start_offset, []
        end = log.log_end_offset if end is None else end
        while offset < end:
            piece = bytes_of(log.read(offset, 1 << 20, end).records)
            if not piece:
                break
            pieces.append(piece)
            offset = [record.offset for record in decode_records(piece, allow_partial_tail=True)][-1] + 1
        return b"".join(pieces)


class _Channels(ReconnectingChannels):
    def __init__(self, cluster: MemoryCluster, sender: int) -> None:
        self.cluster, self.sender = cluster, sender

    def open(self, broker_id: int) -> MemoryChannel:
        return MemoryChannel(self.cluster, self.sender, broker_id)


class MemoryCluster:
    """Brokers, their controller, and the messages between them."""

    def __init__(
        self,
        folder: Path,
        broker_ids: Iterable[int] = (1, 2, 3),
        config: ReplicationConfig | None = None,
        min_insync_replicas: int = 1,
    ) -> None:
        self.folder = folder
        self.clock = ManualClock()
        self.config = config or ReplicationConfig()
        self.configs = MemoryConfigs(topic=TopicSettings(min_insync_replicas=min_insync_replicas))
        self.view = MemoryView(set())
        self.brokers: dict[int, MemoryBroker] = {}
        self.mail: deque[Callable[[], None]] = deque()
        self.cut: set[tuple[int, int]] = set()  # (sender, receiver) pairs that cannot reach each other
        self.alter_partition_error = Error.NONE
        self.controller_epoch = 1
        self.page_reads: PageReads = AllResident()
        self._lives = 0
        for broker_id in broker_ids:
            self.start(broker_id)

    def next_life(self) -> int:
        self._lives += 1
        return self._lives

    # -- brokers

    def start(self, broker_id: int, file_system: FileSystem | None = None) -> MemoryBroker:
        self.view.alive.add(broker_id)
        return MemoryBroker(self, broker_id, file_system)

    def kill(self, broker_id: int) -> None:
        """SIGKILL: no controlled shutdown. The kernel keeps the written data and releases the lock."""
        broker = self.brokers.pop(broker_id)
        self.view.alive.discard(broker_id)
        for directory in broker.logs.directories:
            directory.unlock()
        for broken in broker.at_kill:
            broken()

    # -- the controller

    def create(self, replicas: list[int], partitions: int = 1) -> None:
        """Creates the topic; the first replica leads all its partitions."""
        for index in range(partitions):
            row = PartitionRow(replicas[0], list(replicas), list(replicas))
            self.view.rows[TopicPartition(TOPIC, index)] = row
        self.tell(is_new=True)

    def elect(self, leader: int, index: int = 0, isr: list[int] | None = None, *, unclean: bool = False) -> None:
        """Starts a new leader epoch. By default the ISR is the live members of the old one."""
        row = self.view.rows[TopicPartition(TOPIC, index)]
        row.leader = leader
        row.isr = isr if isr is not None else [member for member in row.isr if member in self.view.alive]
        row.leader_epoch += 1
        row.partition_epoch += 1
        if unclean:
            row.unclean_epoch = row.leader_epoch
        self.tell()

    def tell(self, *, is_new: bool = False, only: Iterable[int] | None = None) -> None:
        """Sends LeaderAndIsr with all partitions to all running brokers, or only to the brokers `only`."""
        for broker_id in list(self.brokers) if only is None else only:
            self.tell_one(broker_id, is_new=is_new)

    def tell_one(self, broker_id: int, *, is_new: bool = False) -> LeaderAndIsrResponse:
        states = [
            LeaderAndIsrRequest.LeaderAndIsrPartitionState(
                partition_index=tp.partition,
                controller_epoch=self.controller_epoch,
                leader=row.leader,
                leader_epoch=row.leader_epoch,
                isr=list(row.isr),
                partition_epoch=row.partition_epoch,
                replicas=list(row.replicas),
                is_new=is_new,
            )
            for tp, row in self.view.rows.items()
            if broker_id in row.replicas
        ]
        for state in states:
            row = self.view.rows[TopicPartition(TOPIC, state.partition_index)]
            own_tags.put_unclean_epoch(state, row.unclean_epoch)
        request = LeaderAndIsrRequest(
            controller_id=1,
            controller_epoch=self.controller_epoch,
            topic_states=[
                LeaderAndIsrRequest.LeaderAndIsrTopicState(topic_name=TOPIC, topic_id=TOPIC_ID, partition_states=states)
            ],
        )
        manager = self.brokers[broker_id].manager
        response: LeaderAndIsrResponse = over_the_wire(manager.become_leader_or_follower(over_the_wire(request, 7)), 7)
        return response

    def stop_replica(self, broker_id: int, *, delete: bool, leader_epoch: int = -2) -> StopReplicaResponse:
        state = StopReplicaRequest.StopReplicaPartitionState(
            partition_index=0, leader_epoch=leader_epoch, delete_partition=delete
        )
        topic = StopReplicaRequest.StopReplicaTopicState(topic_name=TOPIC, partition_states=[state])
        request = StopReplicaRequest(controller_epoch=self.controller_epoch, topic_states=[topic])
        manager = self.brokers[broker_id].manager
        response: StopReplicaResponse = over_the_wire(manager.stop_replica(over_the_wire(request, 4)), 4)
        return response

    def alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        """The controller's rules, as far as they affect a leader."""
        response = AlterPartitionResponse(error_code=self.alter_partition_error)
        for topic in request.topics if not self.alter_partition_error else ():
            answers = []
            for request_partition in topic.partitions:
                row = self.view.rows[TopicPartition(TOPIC, request_partition.partition_index)]
                new_isr = [state.broker_id for state in request_partition.new_isr_with_epochs]
                if request.broker_id not in new_isr:
                    answers.append(self._leave(request_partition, row, request.broker_id))
                    continue
                error = self._check(request_partition, row, new_isr, request.broker_id)
                if error is Error.NONE and new_isr != row.isr:
                    row.isr = new_isr
                    row.partition_epoch += 1
                answers.append(
                    AlterPartitionResponse.PartitionData(
                        partition_index=request_partition.partition_index,
                        error_code=error,
                        leader_id=row.leader,
                        leader_epoch=row.leader_epoch,
                        isr=list(row.isr),
                        partition_epoch=row.partition_epoch,
                    )
                )
            response.topics.append(AlterPartitionResponse.TopicData(topic_id=topic.topic_id, partitions=answers))
        decoded: AlterPartitionResponse = over_the_wire(response, 3)
        return decoded

    def _leave(
        self, request_partition: AlterPartitionRequest.PartitionData, row: PartitionRow, broker_id: int
    ) -> AlterPartitionResponse.PartitionData:
        """Removes a replica from the ISR: a new leader epoch, and another leader if it was the leader."""
        isr = [member for member in row.isr if member != broker_id and member in self.view.alive]
        answer = AlterPartitionResponse.PartitionData(
            partition_index=request_partition.partition_index, isr=list(row.isr)
        )
        if request_partition.leader_epoch < row.leader_epoch:
            answer.error_code = Error.FENCED_LEADER_EPOCH
        elif not isr:
            answer.error_code = Error.INELIGIBLE_REPLICA
        else:
            leader = row.leader if row.leader in isr else isr[0]
            answer.leader_id, answer.leader_epoch, answer.isr = leader, row.leader_epoch + 1, isr
            self.mail.append(lambda: self.elect(leader, request_partition.partition_index, isr))
        return answer

    def _check(
        self, request_partition: AlterPartitionRequest.PartitionData, row: PartitionRow, new_isr: list[int], leader: int
    ) -> Error:
        if request_partition.leader_epoch < row.leader_epoch or leader != row.leader:
            return Error.FENCED_LEADER_EPOCH
        if request_partition.partition_epoch < row.partition_epoch and new_isr != row.isr:
            return Error.INVALID_UPDATE_VERSION
        return Error.INELIGIBLE_REPLICA if set(new_isr) - self.view.alive else Error.NONE

    # -- time

    def run(self) -> None:
        """Delivers messages and ends turns until nothing is left to do. AssertionError if that never happens: then a
        component repeats the same request without a pause."""
        moved, delivered = True, 0
        while moved:
            moved = False
            for broker in list(self.brokers.values()):
                moved |= broker.iterations.end()
            if self.mail:
                moved = True
                delivered += 1
                assert delivered < MOST_DELIVERIES, f"{delivered} messages and no end: brokers go round in circles"
                self.mail.popleft()()

    def advance(self, ms: int, step_ms: int = 50) -> None:
        """Lets time pass, and runs everything that becomes due."""
        while ms > 0:
            taken = min(ms, step_ms)
            self.clock.advance(taken)
            ms -= taken
            for broker in list(self.brokers.values()):
                broker.timers.run_due()
            self.run()

    # -- clients

    def produce(self, broker_id: int, *values: bytes, acks: int = -1, index: int = 0, timeout_ms: int = 1_000) -> Any:
        """The result may be pending: run the cluster to complete it."""
        return self.brokers[broker_id].manager.append([((TOPIC, index), batch_of(*values))], acks, timeout_ms)

    def consume(self, broker_id: int, offset: int = 0, index: int = 0, max_bytes: int = 1 << 20) -> Any:
        """(partition data of one sessionless fetch, its values)."""
        request = fetch_request(offset, index, max_bytes=max_bytes)
        pending = self.brokers[broker_id].manager.fetches.fetch(request, FETCH_VERSION)
        data = partition_data(over_the_wire(pending.result(), FETCH_VERSION))
        return data, values_of(data.records)


def fetch_request(
    offset: int = 0,
    index: int = 0,
    *,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    replica: tuple[int, int] = (-1, -1),
    leader_epoch: int = -1,
    last_fetched_epoch: int = -1,
    session: tuple[int, int] = (0, -1),
    isolation_level: int = 0,
) -> FetchRequest:
    """A fetch of one partition. `replica`: (id, broker epoch); `session`: (id, epoch)."""
    request_partition = FetchRequest.FetchPartition(
        partition=index,
        current_leader_epoch=leader_epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_fetched_epoch,
        log_start_offset=0 if replica[0] >= 0 else -1,
        partition_max_bytes=max_bytes,
    )
    return FetchRequest(
        replica_state=FetchRequest.ReplicaState(replica_id=replica[0], replica_epoch=replica[1]),
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchRequest.FetchTopic(topic=TOPIC, topic_id=TOPIC_ID, partitions=[request_partition])],
    )


def partition_data(response: FetchResponse) -> FetchResponse.PartitionData:
    """The only partition of a response."""
    assert response.error_code == 0
    assert len(response.responses) == 1
    assert len(response.responses[0].partitions) == 1
    return response.responses[0].partitions[0]
