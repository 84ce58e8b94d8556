"""Addresses never leak between listeners: every response that can contain one is searched, byte by byte."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.headers import decode_response_header
from signalbox.protocol.messages.describe_cluster import DescribeClusterRequest
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.protocol.messages.find_coordinator import FindCoordinatorRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.protocol.records.record_batch import Record, encode_batch
from tests.system.clusters import BROKERS, HOSTS, RoutedCluster
from tests.system.conftest import MakeTopic
from tests.system.wire import Wire, dial
from tests.waiting import until


def on_listener(cluster: RoutedCluster, listener: str) -> Iterator[Wire]:
    for node_id in BROKERS:
        if listener in cluster.brokers[node_id].ready["bound"]:
            with dial(cluster, node_id, listener) as wire:
                yield wire


def addresses(cluster: RoutedCluster, listener: str) -> set[bytes]:
    """For every broker on a listener: its host, which ends a STRING or COMPACT_STRING, and its port as the INT32 behind
    it."""
    found = set()
    for broker in cluster.brokers.values():
        if listener in broker.ready["listeners"]:
            host, _, port = broker.address(listener).rpartition(":")
            found.add(host.encode() + int(port).to_bytes(4))
    return found


def answers(wire: Wire, topic: str, topic_id: bytes) -> Iterator[tuple[str, bytes]]:
    """Every response that contains endpoints, at every version."""
    for version in range(14):
        topics: list[MetadataRequest.MetadataRequestTopic] | None = None if version else []
        yield (
            f"Metadata {version}",
            wire.ask_raw(ApiKey.METADATA, version, MetadataRequest(topics=topics).encode(version)),
        )
    for version in range(3):
        yield (
            f"DescribeCluster {version}",
            wire.ask_raw(ApiKey.DESCRIBE_CLUSTER, version, DescribeClusterRequest().encode(version)),
        )
    for version in range(7):
        by_key = FindCoordinatorRequest(key="g") if version < 4 else FindCoordinatorRequest(coordinator_keys=["g"])
        yield f"FindCoordinator {version}", wire.ask_raw(ApiKey.FIND_COORDINATOR, version, by_key.encode(version))
    yield "Produce 12", wire.ask_raw(ApiKey.PRODUCE, 12, produce_request(topic).encode(12))
    yield "Fetch 17", wire.ask_raw(ApiKey.FETCH, 17, fetch_request(topic_id).encode(17))


def produce_request(topic: str) -> ProduceRequest:
    records = encode_batch([Record(0, 1_790_000_000_000, None, b"x", [])])
    data = ProduceRequest.TopicProduceData(
        name=topic, partition_data=[ProduceRequest.PartitionProduceData(index=0, records=records)]
    )
    return ProduceRequest(acks=1, timeout_ms=5_000, topic_data=[data])


def fetch_request(topic_id: bytes) -> FetchRequest:
    partition = FetchRequest.FetchPartition(partition=0, partition_max_bytes=1_000)
    return FetchRequest(
        max_wait_ms=0, min_bytes=0, topics=[FetchRequest.FetchTopic(topic_id=topic_id, partitions=[partition])]
    )


def topic_id_of(wire: Wire, topic: str) -> bytes:
    named = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=topic)])
    return bytes(wire.ask(ApiKey.METADATA, 12, named).topics[0].topic_id)


@pytest.mark.spec("L10", "L11")
@pytest.mark.parametrize("listener", ["CLIENT", "REPLICATION", "ROUTED", "PARTIAL"])
def test_answers_hold_this_listeners_addresses_only(
    cluster: RoutedCluster, make_topic: MakeTopic, listener: str
) -> None:
    topic = make_topic()
    own = addresses(cluster, listener)
    foreign = set().union(*(addresses(cluster, other) for other in HOSTS if other != listener))
    asked = 0
    with dial(cluster) as wire:
        topic_id = topic_id_of(wire, topic)
    for wire in on_listener(cluster, listener):
        for what, answer in answers(wire, topic, topic_id):
            asked += 1
            leaked = [address for address in foreign if address in answer]
            assert not leaked, f"{what} on {listener} tells {leaked}"
            assert not [name for name in HOSTS if name.encode() in answer], f"{what} names a listener"
            if what.startswith(("Metadata", "DescribeCluster")):
                assert all(address in answer for address in own), f"{what} leaves a broker out"
    assert asked == 26 * (2 if listener == "PARTIAL" else 3)


@pytest.mark.spec("L10")
def test_who_is_not_the_leader_names_the_leader_on_this_listener(cluster: RoutedCluster, make_topic: MakeTopic) -> None:
    topic = make_topic(replicas=1)  # a follower would serve the fetch (KIP-392)
    redirected = 0
    with dial(cluster) as wire:
        topic_id = topic_id_of(wire, topic)
    for wire in on_listener(cluster, "ROUTED"):
        produced = _decoded(wire, ApiKey.PRODUCE, 12, produce_request(topic).encode(12))
        fetched = _decoded(wire, ApiKey.FETCH, 17, fetch_request(topic_id).encode(17))
        error = produced.responses[0].partition_responses[0].error_code
        assert fetched.responses[0].partitions[0].error_code == error
        if error:
            assert error == 6, "NOT_LEADER_OR_FOLLOWER"
            endpoints = {f"{node.host}:{node.port}" for node in (*produced.node_endpoints, *fetched.node_endpoints)}
            assert len(endpoints) == 1
            assert endpoints <= set(cluster.bootstrap("ROUTED").split(","))
            redirected += 1
    assert redirected == 2


def _decoded(wire: Wire, key: ApiKey, version: int, body: bytes) -> Any:
    answer = wire.ask_raw(key, version, body)
    _, offset = decode_response_header(answer, key, version)
    return API_TABLE[key].response.decode(answer, version, offset)


@pytest.mark.spec("L10")
def test_a_broker_without_the_listener_is_left_out(cluster: RoutedCluster, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    with dial(cluster, 1, "CLIENT") as wire:
        named = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=topic)])
        partitions = wire.ask(ApiKey.METADATA, 12, named).topics[0].partitions
        led_by_third = {part.partition_index for part in partitions if part.leader_id == 3}
        assert led_by_third
    with dial(cluster, 1, "PARTIAL") as wire:
        for version, code in ((5, 5), (6, 72), (13, 72)):  # LEADER_NOT_AVAILABLE, LISTENER_NOT_FOUND
            answer = wire.ask(ApiKey.METADATA, version, named)
            assert {broker.node_id for broker in answer.brokers} == {1, 2}
            components = answer.topics[0].partitions
            assert {part.partition_index for part in components if part.error_code == code} == led_by_third
            assert {part.leader_id for part in components if part.partition_index in led_by_third} == {-1}


@pytest.mark.spec("F12")
def test_the_controller_is_not_exposed(cluster: RoutedCluster) -> None:
    with dial(cluster) as wire:
        seen: set[int] = set()

        def everybody() -> bool:
            seen.add(wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[])).controller_id)
            seen.add(wire.ask(ApiKey.DESCRIBE_CLUSTER, 1, DescribeClusterRequest()).controller_id)
            return seen == {1, 2, 3}

        until(everybody, "every broker named as the controller now and then")
