"""A topic is created through a broker that is not the controller: the request is forwarded in an Envelope (KIP-590)."""

from __future__ import annotations

import asyncio

from signalbox.cli.demo.flights import TOPIC
from signalbox.cli.demo.stage import Stage
from signalbox.client.connection.connection import connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse

_FORWARDED = "kafka_server_forwardingmanager_num_messages_redirected_count"


def create_through_another_broker(stage: Stage) -> None:
    """Create the demo's topic at a broker that must forward, and check that broker's counter."""
    controller = stage.controller_id()
    stage.check("one broker is the active controller", controller > 0, f"broker {controller}")
    broker_id = next(node_id for node_id in stage.cluster.brokers if node_id != controller)
    before = stage.metric(broker_id, _FORWARDED)
    response = asyncio.run(_create(stage.cluster.brokers[broker_id].address("CLIENT")))
    result = response.topics[0]
    layout = f"{result.num_partitions} partitions, replication factor {result.replication_factor}"
    stage.check(f"broker {broker_id} answers CreateTopics", result.error_code == Error.NONE, layout)
    forwarded = stage.metric(broker_id, _FORWARDED) - before
    stage.check(f"it went to broker {controller} in an Envelope", forwarded == 1, f"{forwarded:.0f} forwarded")
    stage.facts["forwarding"] = {"broker": broker_id, "controller": controller}


async def _create(address: str) -> CreateTopicsResponse:
    host, _, port = address.rpartition(":")
    connection = await connect(Address(host, int(port)), ConnectionSettings(client_id="demo-admin"))
    configs = [CreateTopicsRequest.CreatableTopicConfig(name="min.insync.replicas", value="2")]
    topic = CreateTopicsRequest.CreatableTopic(name=TOPIC, num_partitions=6, replication_factor=3, configs=configs)
    try:
        response: CreateTopicsResponse = await connection.request(
            CreateTopicsRequest(topics=[topic], timeout_ms=15_000), timeout_ms=20_000
        )
        return response
    finally:
        connection.close()
