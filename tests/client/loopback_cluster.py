"""A small cluster on real loopback sockets, written with our protocol, for tests of the client package.

It is not a broker: partitions are lists in memory, and there is no replication. What a client depends on is real:
identity is checked (KIP-1242), sequences are checked, errors can be scripted per API, and every request is recorded.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import decode_request_header, encode_response_header
from signalbox.protocol.messages.api_versions import ApiVersionsResponse
from signalbox.protocol.messages.fetch import FetchResponse
from signalbox.protocol.messages.init_producer_id import InitProducerIdResponse
from signalbox.protocol.messages.list_offsets import ListOffsetsResponse
from signalbox.protocol.messages.metadata import MetadataResponse
from signalbox.protocol.messages.produce import ProduceResponse
from signalbox.protocol.records.batch_header import iter_batch_headers, patch_base_offset_and_epoch
from signalbox.protocol.records.record_batch import Record, decode_records

Script = Callable[[Any, int], Any]


@dataclass
class LoopbackPartition:
    leader: int
    leader_epoch: int = 0
    batches: list[bytes] = field(default_factory=list)
    end_offset: int = 0
    sequences: dict[tuple[int, int], tuple[int, int, int]] = field(default_factory=dict)

    def append(self, records: bytes) -> tuple[int, int]:
        """(error code, base offset), with the sequence rules of an idempotent producer."""
        (header,) = iter_batch_headers(records)
        base = self.end_offset
        if header.producer_id >= 0:
            key = (header.producer_id, header.producer_epoch)
            last = self.sequences.get(key)
            if last is not None and last[0] == header.base_sequence and last[1] == header.last_sequence:
                return Error.NONE, last[2]
            expected = 0 if last is None else last[1] + 1
            if header.base_sequence != expected:
                return Error.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
            self.sequences[key] = (header.base_sequence, header.last_sequence, base)
        stored = bytearray(records)
        patch_base_offset_and_epoch(stored, base, self.leader_epoch)
        self.batches.append(bytes(stored))
        self.end_offset = base + header.last_offset_delta + 1
        return Error.NONE, base

    def records(self) -> list[Record]:
        return [record for batch in self.batches for record in decode_records(batch)]


class LoopbackCluster:
    """Brokers that share topics. `advertised` maps node ids to addresses in Metadata, by default the brokers' own."""

    def __init__(self, cluster_id: str | None = "cluster-A") -> None:
        self.cluster_id = cluster_id
        self.brokers: dict[int, LoopbackBroker] = {}
        self.advertised: dict[int, tuple[str, int]] = {}
        self.topics: dict[str, dict[int, LoopbackPartition]] = {}
        self.next_producer_id = 1000

    async def __aenter__(self) -> LoopbackCluster:
        return self

    async def __aexit__(self, *_: object) -> None:
        for broker in self.brokers.values():
            await broker.stop()

    async def add_broker(self, node_id: int, context: ssl.SSLContext | None = None) -> LoopbackBroker:
        broker = LoopbackBroker(node_id, self, context)
        await broker.start()
        self.brokers[node_id] = broker
        self.advertised[node_id] = broker.address
        return broker

    def add_topic(self, name: str, *leaders: int) -> None:
        self.topics[name] = {index: LoopbackPartition(leader) for index, leader in enumerate(leaders)}

    def topic_id(self, name: str) -> bytes:
        return name.encode().ljust(16, b"\1")[:16]

    def topic_name(self, topic_id: bytes) -> str:
        return next((name for name in self.topics if self.topic_id(name) == topic_id), "")

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self.advertised.values())


class LoopbackBroker:
    """One node. `scripts[api]` replaces the built-in handler; if it returns None, the connection closes."""

    def __init__(self, node_id: int, cluster: LoopbackCluster, context: ssl.SSLContext | None = None) -> None:
        self.node_id = node_id
        self._context = context
        self.cluster = cluster
        self.scripts: dict[int, Script] = {}
        self.api_versions_max = 5
        self.max_versions: dict[int, int] = {}
        self.compares_identity = True
        self.requests: list[tuple[ApiKey, int, Any]] = []
        self.rejected = 0
        self.connections = 0
        self.address = ("127.0.0.1", 0)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, *self.address, limit=1 << 26, ssl=self._context)
        self.address = self._server.sockets[0].getsockname()[:2]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in tuple(self._writers):
            writer.transport.abort()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def seen(self, api_key: ApiKey) -> list[Any]:
        return [request for key, _, request in self.requests if key == api_key]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                await self._handle(await reader.readexactly(size), writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            return
        finally:
            self._tasks.discard(task)
            self._writers.discard(writer)
            writer.transport.abort()

    async def _handle(self, frame: bytes, writer: asyncio.StreamWriter) -> None:
        header, offset = decode_request_header(frame)
        api_key, version = ApiKey(header.api_key), header.api_version
        if api_key == ApiKey.API_VERSIONS and version > self.api_versions_max:
            row = ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=self.api_versions_max)
            response = ApiVersionsResponse(error_code=Error.UNSUPPORTED_VERSION, api_keys=[row])
            self.requests.append((api_key, version, None))
            version = 0
        else:
            request = API_TABLE[api_key].request.decode(frame, version, offset)
            self.requests.append((api_key, version, request))
            script = self.scripts.get(api_key)
            response = script(request, version) if script is not None else self._answer(api_key, request)
            if asyncio.iscoroutine(response):
                response = await response
        if response is None:
            writer.transport.abort()
            return
        body = response.encode(version) if not isinstance(response, bytes) else response
        payload = encode_response_header(api_key, header.api_version, header.correlation_id) + body
        writer.write(len(payload).to_bytes(4, "big") + payload)
        await writer.drain()

    def _answer(self, api_key: ApiKey, request: Any) -> Any:
        handlers = {
            ApiKey.API_VERSIONS: self.api_versions,
            ApiKey.METADATA: self.metadata,
            ApiKey.INIT_PRODUCER_ID: self.init_producer_id,
            ApiKey.PRODUCE: self.produce,
            ApiKey.FETCH: self.fetch,
            ApiKey.LIST_OFFSETS: self.list_offsets,
        }
        return handlers[api_key](request)

    def api_versions(self, request: Any) -> Any:
        given = (request.cluster_id is not None, request.node_id != -1)
        if given in ((True, False), (False, True)):
            return ApiVersionsResponse(error_code=Error.INVALID_REQUEST)
        wrong = (request.cluster_id, request.node_id) != (self.cluster.cluster_id, self.node_id)
        if given[0] and wrong and self.compares_identity:
            self.rejected += 1
            return ApiVersionsResponse(error_code=Error.REBOOTSTRAP_REQUIRED)
        rows = [
            ApiVersionsResponse.ApiVersion(
                api_key=key,
                min_version=row.min_version,
                max_version=min(row.max_version, self.max_versions.get(key, row.max_version)),
            )
            for key, row in API_TABLE.items()
            if self.max_versions.get(key, row.max_version) >= row.min_version
        ]
        return ApiVersionsResponse(api_keys=rows)

    def metadata(self, request: Any) -> Any:
        cluster = self.cluster
        wanted = [row.name for row in request.topics] if request.topics is not None else list(cluster.topics)
        return MetadataResponse(
            cluster_id=cluster.cluster_id,
            controller_id=min(cluster.advertised),
            brokers=[
                MetadataResponse.MetadataResponseBroker(node_id=node_id, host=host, port=port)
                for node_id, (host, port) in cluster.advertised.items()
            ],
            topics=[self._topic(name) for name in wanted],
        )

    def _topic(self, name: str) -> Any:
        partitions = self.cluster.topics.get(name)
        if partitions is None:
            return MetadataResponse.MetadataResponseTopic(name=name, error_code=Error.UNKNOWN_TOPIC_OR_PARTITION)
        return MetadataResponse.MetadataResponseTopic(
            name=name,
            topic_id=self.cluster.topic_id(name),
            partitions=[
                MetadataResponse.MetadataResponsePartition(
                    partition_index=index,
                    leader_id=row.leader,
                    leader_epoch=row.leader_epoch,
                    replica_nodes=[row.leader],
                    isr_nodes=[row.leader],
                )
                for index, row in partitions.items()
            ],
        )

    def init_producer_id(self, request: Any) -> Any:
        self.cluster.next_producer_id += 1
        return InitProducerIdResponse(producer_id=self.cluster.next_producer_id, producer_epoch=0)

    def _partition(self, name: str, index: int) -> LoopbackPartition | None:
        row = self.cluster.topics.get(name, {}).get(index)
        return row if row is not None and row.leader == self.node_id else None

    def produce(self, request: Any) -> Any:
        responses = []
        for topic in request.topic_data:
            name = topic.name or self.cluster.topic_name(topic.topic_id)
            rows = []
            for data in topic.partition_data:
                partition = self._partition(name, data.index)
                response = ProduceResponse.PartitionProduceResponse(
                    index=data.index, error_code=Error.NOT_LEADER_OR_FOLLOWER
                )
                if partition is not None:
                    response.error_code, response.base_offset = partition.append(bytes(data.records))
                rows.append(response)
            responses.append(
                ProduceResponse.TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=rows)
            )
        return ProduceResponse(responses=responses)

    def fetch(self, request: Any) -> Any:
        responses = []
        for topic in request.topics:
            name = topic.topic or self.cluster.topic_name(topic.topic_id)
            rows = [self._fetched(name, row) for row in topic.partitions]
            responses.append(
                FetchResponse.FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=rows)
            )
        return FetchResponse(responses=responses)

    def _fetched(self, name: str, asked: Any) -> Any:
        response = FetchResponse.PartitionData(partition_index=asked.partition)
        partition = self._partition(name, asked.partition)
        if partition is None:
            response.error_code = Error.NOT_LEADER_OR_FOLLOWER
            return response
        response.high_watermark = partition.end_offset
        if not 0 <= asked.fetch_offset <= partition.end_offset:
            response.error_code = Error.OFFSET_OUT_OF_RANGE
            return response
        for batch in partition.batches:
            (header,) = iter_batch_headers(batch)
            if header.last_offset >= asked.fetch_offset:
                response.records = batch
                return response
        response.records = b""
        return response

    def list_offsets(self, request: Any) -> Any:
        topics = []
        for topic in request.topics:
            rows = []
            for asked in topic.partitions:
                row = ListOffsetsResponse.ListOffsetsPartitionResponse(partition_index=asked.partition_index)
                partition = self._partition(topic.name, asked.partition_index)
                if partition is None:
                    row.error_code = Error.NOT_LEADER_OR_FOLLOWER
                else:
                    row.offset = 0 if asked.timestamp == -2 else partition.end_offset
                rows.append(row)
            topics.append(ListOffsetsResponse.ListOffsetsTopicResponse(name=topic.name, partitions=rows))
        return ListOffsetsResponse(topics=topics)
