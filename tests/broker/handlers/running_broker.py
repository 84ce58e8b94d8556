"""A running broker with its components. Tests build handlers over these components, with any authorizer."""

from __future__ import annotations

from typing import Any

from signalbox.broker.api_request import ApiRequest, Handler
from signalbox.broker.handlers.groups.offset_fetch import OffsetFetchHandler
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.protocol.messages.offset_fetch import OffsetFetchRequest
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.security.authorizer import AllowAllAuthorizer
from signalbox.storage.log_config import LogConfig
from signalbox.testing.cluster import Cluster
from signalbox.wiring.broker_node_components import BrokerNodeComponents
from tests.broker.handler_requests import as_read, context, handled, request_of


class RunningBroker:
    """Broker 1, which is its own controller."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    @property
    def components(self) -> BrokerNodeComponents:
        return self.cluster.nodes[1].components

    def answer(self, handler: Handler, request: ApiRequest) -> Any:
        """The response that the client decodes."""
        return as_read(request, self.cluster.run(handled(handler, request)))

    def create_topic(self, name: str, partitions: int = 1, **configs: str) -> None:
        """Returns when the topic is in this broker's metadata image."""
        topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        topic.configs = [
            CreateTopicsRequest.CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ]
        wanted = CreateTopicsRequest(topics=[topic], timeout_ms=5_000)
        made = self.cluster.run(self.components.controller.handle(ApiKey.CREATE_TOPICS, wanted, context()))
        assert isinstance(made, CreateTopicsResponse)
        [result] = made.topics
        assert result.error_code in (Error.NONE, Error.TOPIC_ALREADY_EXISTS), result
        assert self.cluster.run(self.components.cache.wait_until(lambda image: name in image.topics, 5))

    def open_coordinator(self) -> None:
        """Returns when this broker is the coordinator of every group."""
        self.create_topic("__consumer_offsets", 1)
        handler = OffsetFetchHandler(self.components.data.coordinator, self.components.cache, AllowAllAuthorizer())
        asked = request_of(OffsetFetchRequest(group_id="g", topics=None), 7)
        while self.answer(handler, asked).error_code != Error.NONE:
            pass  # its partition is being loaded

    def log_config(self, topic: str) -> LogConfig:
        """The current config of the log of partition 0: a new topic's configs may be applied after its creation."""
        partition = self.components.data.replicas.partition(topic, 0)
        return partition.log.config if partition is not None and partition.log is not None else LogConfig()

    def topic_id(self, topic: str) -> bytes:
        return self.components.cache.image.topic_id(topic)


def batch(*values: bytes) -> bytearray:
    """Records as a producer sends them."""
    return bytearray(encode_batch([Record(timestamp=1, key=None, value=value) for value in values]))
