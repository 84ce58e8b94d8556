"""A controller's dependencies for tests: registered brokers, and channels that record and acknowledge requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from signalbox.common.clock import SystemClock
from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.common.ids import new_uuid
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.controller.config_rows import ControllerSettings
from signalbox.controller.decision import Inputs
from signalbox.controller.runtime import Controller, Dependencies
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.entries.registration import BrokerRegistration
from signalbox.metadata.layout import TOPICS, broker_id_path, create_roots
from signalbox.metadata.store.port import Create, MetadataStore, Write
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.message import Message
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from signalbox.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from signalbox.security.delegation_token import TokenSecret

Scenario = Callable[[Callable[[], Any]], Awaitable[None]]
"""The body of a test; it receives a factory of participants of one store."""


def registration(broker_id: int, rack: str | None = None, **changes: Any) -> BrokerRegistration:
    """A broker with the three listeners of the demo."""
    plaintext = SecurityProtocol.PLAINTEXT
    listeners = (("CLIENT", 9000), ("REPLICATION", 9100), ("CONTROL", 9200))
    fields: dict[str, Any] = {
        "broker_id": broker_id,
        "endpoints": tuple(Endpoint(name, f"host{broker_id}", port + broker_id, plaintext) for name, port in listeners),
        "rack": rack,
        "control_plane_listener": "CONTROL",
    }
    return BrokerRegistration(**{**fields, **changes})


def inputs(token_secret: TokenSecret | None = None, **settings: Any) -> Inputs:
    """Inputs without randomness: placement begins at the first broker."""
    fields = {
        "inter_broker_listener": "REPLICATION",
        "auto_leader_rebalance_enable": False,
        **settings,
    }
    return Inputs(
        ControllerSettings(**fields),
        draw=lambda sides: 0,
        new_uuid=new_uuid,
        now_ms=SystemClock().now_ms,
        token_secret=token_secret,
    )


async def register(store: MetadataStore, broker: BrokerRegistration) -> int:
    """Writes a broker's registration into the store; returns its epoch."""
    path = broker_id_path(broker.broker_id)
    results = await store.commit([Create(path, of_session=True), Write(path, broker.encode(), 0)])
    return results[0].creation_id


def good_response(request: Message) -> Message:
    """The response of a broker without errors."""
    if isinstance(request, LeaderAndIsrRequest):
        error = LeaderAndIsrResponse.LeaderAndIsrPartitionError
        return LeaderAndIsrResponse(
            topics=[
                LeaderAndIsrResponse.LeaderAndIsrTopicError(
                    topic_id=topic.topic_id,
                    partition_errors=[error(partition_index=each.partition_index) for each in topic.partition_states],
                )
                for topic in request.topic_states
            ]
        )
    if isinstance(request, StopReplicaRequest):
        return StopReplicaResponse()
    return UpdateMetadataResponse()


@dataclass
class RecordingChannels:
    """BrokerChannels that record the sent requests. UpdateMetadata for `cache_of` is applied to `cache`."""

    cache: MetadataCache
    cache_of: int
    answer: Callable[[int, Message], Message] = lambda broker_id, request: good_response(request)
    endpoints: dict[int, Endpoint] = field(default_factory=dict)
    sent: list[tuple[int, Message]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def add_broker(self, broker_id: int, endpoint: Endpoint) -> None:
        self.endpoints[broker_id] = endpoint
        self.log.append(f"+{broker_id}")
        self.changed.set()

    def remove_broker(self, broker_id: int) -> None:
        del self.endpoints[broker_id]
        self.log.append(f"-{broker_id}")
        self.changed.set()

    async def send(self, broker_id: int, request: Message) -> Message:
        assert broker_id in self.endpoints
        self.sent.append((broker_id, request))
        self.changed.set()
        if isinstance(request, UpdateMetadataRequest) and broker_id == self.cache_of:
            self.cache.apply_update_metadata(request)
        await asyncio.sleep(0)
        return self.answer(broker_id, request)

    def requests_to(self, broker_id: int, kind: type) -> list[Any]:
        """All requests of one kind that were sent to one broker."""
        return [request for to, request in self.sent if to == broker_id and isinstance(request, kind)]


@dataclass
class ControllerNode:
    """A node that takes part in controller elections, with its own session with the store."""

    node_id: int
    store: Any
    controller: Controller
    channels: RecordingChannels
    cache: MetadataCache
    broker_epoch: int

    async def until_active(self) -> None:
        """Waits until this node is the controller and has its context."""
        await self.until(lambda: self.controller.is_active and self.controller.context is not None)

    async def until(self, holds: Callable[[], object]) -> None:
        """Waits for a condition. It is checked after a request, a change of a channel or of topics, and every 5 ms,
        since a change of the controller epoch gives no event."""
        loop, changed = asyncio.get_running_loop(), self.channels.changed
        async with asyncio.timeout(60):
            while not holds():
                looking = loop.call_later(0.005, changed.set)
                await changed.wait()
                looking.cancel()
                changed.clear()


def dependencies(channels: RecordingChannels, cache: MetadataCache, probe: Any = None, **others: Any) -> Dependencies:
    """On the running event loop."""
    return Dependencies(channels, cache, TaskScheduler(asyncio.get_running_loop()), probe, **others)


async def start_node(
    node_id: int, store: MetadataStore, broker: BrokerRegistration | None = None, **settings: Any
) -> ControllerNode:
    """Opens the session, registers the broker, starts the controller."""
    await store.open_session()
    await create_roots(store)
    broker_epoch = await register(store, broker or registration(node_id))
    cache = MetadataCache()
    channels = RecordingChannels(cache, node_id)
    controller = Controller(node_id, store, dependencies(channels, cache), inputs(**settings))
    store.watch(TOPICS, channels.changed.set)
    await controller.start()
    return ControllerNode(node_id, store, controller, channels, cache, broker_epoch)


async def start_three(participant: Callable[[], Any], **settings: Any) -> list[ControllerNode]:
    """Three nodes; the first is the controller and has all of them in its context."""
    nodes = [await start_node(1, participant(), **settings)]
    await nodes[0].until_active()
    nodes += [await start_node(number, participant(), **settings) for number in (2, 3)]
    await nodes[0].until(lambda: len(brokers_known(nodes[0])) == 3)
    return nodes


def brokers_known(node: ControllerNode) -> set[int]:
    return set(node.controller.context.brokers) if node.controller.context else set()


async def create(node: ControllerNode, *names: str, factor: int = 3, timeout_ms: int = 5_000) -> list[Error]:
    topic = CreateTopicsRequest.CreatableTopic
    topics = [topic(name=name, num_partitions=2, replication_factor=factor) for name in names]
    response = await node.controller.handle(
        ApiKey.CREATE_TOPICS, CreateTopicsRequest(topics=topics, timeout_ms=timeout_ms)
    )
    assert isinstance(response, CreateTopicsResponse)
    return [Error.of(each.error_code) for each in response.topics]


async def stop(nodes: Sequence[ControllerNode]) -> None:
    for node in nodes:
        await node.controller.stop()
