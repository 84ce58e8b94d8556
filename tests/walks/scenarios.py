"""The requests of the walks, sent to a real cluster of three brokers in this process over sockets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.testing.cluster import Cluster
from tests.system.wire import Wire
from tests.walks.recording import Recorder
from tests.walks.table import WALKS, Walk

_TOPIC = "walked"
_TIMEOUT_MS = 30_000
_QUIET = {"signalbox.audit.enable": "false"}  # its delivery sends Produce requests of its own


class Scenarios:
    """Records a walk. Each request is the first of its kind on its connection: no request template matches."""

    def __init__(self, recorder: Recorder, addresses: Mapping[int, str], controller_id: int) -> None:
        self._recorder = recorder
        self._addresses = addresses
        self._created = 0
        self._controller_id = controller_id
        with Wire(addresses[self._controller_id]) as wire:
            _create(wire, _TOPIC)
            topics = [MetadataRequest.MetadataRequestTopic(name=_TOPIC)]
            metadata = wire.ask(ApiKey.METADATA, 9, MetadataRequest(topics=topics))
        self._leader_id = metadata.topics[0].partitions[0].leader_id

    def record(self, walk: Walk) -> list[str]:
        """The functions of one request, in the order of their first calls."""
        send = {"create_topics": self._create_another, "produce": self._produce, "fetch": self._fetch}[walk.name]
        address = self._addresses[self._other_than_controller() if walk.name == "create_topics" else self._leader_id]
        with Wire(address) as wire:
            wire.ask(ApiKey.METADATA, 9, MetadataRequest(topics=[]))  # the connection is open and authenticated
            with self._recorder.recording(walk.follows, walk.leaves) as calls:
                send(wire)
        return calls

    def _create_another(self, wire: Wire) -> None:
        self._created += 1
        _create(wire, f"{_TOPIC}-{self._created}")

    def _produce(self, wire: Wire) -> None:
        """acks=all, one batch for a partition with three replicas in the ISR."""
        records = bytes(encode_batch([Record(key=b"key", value=b"value")]))
        partition = ProduceRequest.PartitionProduceData(index=0, records=records)
        topic = ProduceRequest.TopicProduceData(name=_TOPIC, partition_data=[partition])
        request = ProduceRequest(acks=-1, timeout_ms=_TIMEOUT_MS, topic_data=[topic])
        response = wire.ask(ApiKey.PRODUCE, 9, request)
        assert response.responses[0].partition_responses[0].error_code == 0

    def _fetch(self, wire: Wire) -> None:
        """From offset 0, where a record is."""
        partition = FetchRequest.FetchPartition(
            partition=0, fetch_offset=0, partition_max_bytes=1 << 20, current_leader_epoch=-1
        )
        request = FetchRequest(
            replica_id=-1, max_wait_ms=500, min_bytes=1, max_bytes=1 << 20, session_id=0, session_epoch=-1,
            topics=[FetchRequest.FetchTopic(topic=_TOPIC, partitions=[partition])],
        )  # fmt: skip
        response = wire.ask(ApiKey.FETCH, 11, request)
        assert response.responses[0].partitions[0].records

    def _other_than_controller(self) -> int:
        return next(node_id for node_id in self._addresses if node_id != self._controller_id)


def _create(wire: Wire, name: str) -> None:
    topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=3)
    response = wire.ask(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS))
    assert response.topics[0].error_code == 0


@contextmanager
def running_scenarios() -> Iterator[Scenarios]:
    """A cluster whose threads are profiled, after a first request of each kind."""
    recorder = Recorder()
    with recorder.installed(), Cluster(brokers=3, overrides=_QUIET) as cluster:
        addresses = {node_id: str(node.describe()["listeners"]["CLIENT"]) for node_id, node in cluster.nodes.items()}
        [controller_id] = [id_ for id_, node in cluster.nodes.items() if node.components.controller.is_active]
        scenarios = Scenarios(recorder, addresses, controller_id)
        for walk in WALKS:
            scenarios.record(walk)
        yield scenarios
