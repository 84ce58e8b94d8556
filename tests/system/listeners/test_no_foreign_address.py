"""L10 as a property: for any request on any listener, no response contains an address of another listener.

Every API that a broker serves is called at every version on every listener, with random requests from a seed that name
a real topic. The responses are searched byte by byte. One response may contain addresses of other listeners and is not
requested here: DescribeConfigs of a broker shows `listeners` to a user who may describe the cluster's configs.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator

import pytest
from tools.fuzz.any_request import TOPIC, AnyRequest, changes_the_cluster

from signalbox.broker.routes import ROUTES
from signalbox.metadata.entries.controller_claim import decode_controller_epoch
from signalbox.metadata.layout import CONTROLLER_EPOCH
from signalbox.protocol.api_table import API_TABLE, ApiKey, ApiRow
from signalbox.protocol.headers import encode_request_header
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest
from signalbox.testing.cluster import Cluster
from tests.system.wire import Closed, Wire, framed
from tests.waiting import until

# No listener has the source address of the test itself, nor one that is a prefix of another's.
HOSTS = {"FRONTQZ": "127.0.0.21", "INTERQZ": "127.0.0.22", "CONTROLQZ": "127.0.0.23", "GUESTQZ": "127.0.0.24"}
SENTINEL = 777
DRAWS = 6
DRAWS_OF_TELLING = 150  # only few random requests are valid ones for a leader
TELLING = {ApiKey.METADATA, ApiKey.DESCRIBE_CLUSTER, ApiKey.FIND_COORDINATOR, ApiKey.PRODUCE, ApiKey.FETCH}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Three brokers, four listeners, and a control plane that is not forced, so that it accepts all requests too."""
    overrides = {
        "listeners": ",".join(f"{name}://{host}:0" for name, host in HOSTS.items()),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in HOSTS),
        "inter.broker.listener.name": "INTERQZ",
        "control.plane.listener.name": "CONTROLQZ",
        "control.plane.force.controller.requests.enable": "false",
        "signalbox.audit.enable": "false",
    }
    with Cluster(3, overrides=overrides) as running:
        yield running


def listening(cluster: Cluster, listener: str, node_id: int) -> str:
    return str(cluster.nodes[node_id].describe()["bound"][listener])


@pytest.fixture(scope="module")
def topic_id(cluster: Cluster) -> bytes:
    """A topic whose partitions have one replica each, so that most brokers must return another broker as the leader."""
    one = CreateTopicsRequest.CreatableTopic(name=TOPIC, num_partitions=3, replication_factor=1)
    with Wire(listening(cluster, "FRONTQZ", 1)) as wire:
        wire.ask(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[one], timeout_ms=10_000))
        named = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=TOPIC)])

        def leaders() -> set[int]:
            found = wire.ask(ApiKey.METADATA, 12, named).topics[0]
            return {part.leader_id for part in found.partitions}

        until(lambda: leaders() == {1, 2, 3}, "a leader on every broker")
        return bytes(wire.ask(ApiKey.METADATA, 12, named).topics[0].topic_id)


def requests(row: ApiRow, seed: int, topic_id: bytes) -> Iterator[tuple[int, bytes]]:
    """(version, request) of one API: some random ones of each version; only harmless ones of the APIs that would change
    the cluster."""
    drawn = AnyRequest(random.Random(seed), (bytes(16), topic_id, topic_id))
    for version in range(row.min_version, row.max_version + 1):
        if changes_the_cluster(row):
            yield version, encode_request_header(row.key, version, 1, "wire") + bytes(row.request().encode(version))
            continue
        for _ in range(DRAWS_OF_TELLING if row.key in TELLING else DRAWS):
            yield version, drawn.frame(row, version, 1)


def answer(address: str, request: bytes) -> bytes:
    """The response. An ApiVersions request follows, so that the test does not wait for a response to a request that has
    none (acks=0); b"" if there is none or the broker closes the connection."""
    with Wire(address) as wire:
        try:
            wire.send(framed(request) + framed(encode_request_header(ApiKey.API_VERSIONS, 0, SENTINEL, "wire")))
            found = wire.frame()
        except Closed:
            return b""
        return found if found[:4] != SENTINEL.to_bytes(4) else b""


@pytest.mark.spec("L10")
@pytest.mark.parametrize("listener", HOSTS)
def test_no_answer_holds_an_address_of_another_listener(cluster: Cluster, topic_id: bytes, listener: str) -> None:
    foreign = [host.encode() for name, host in HOSTS.items() if name != listener]
    names = [name.encode() for name in HOSTS]
    own_addresses: dict[ApiKey, int] = defaultdict(int)
    answered: dict[ApiKey, int] = defaultdict(int)
    for route in ROUTES:
        row = API_TABLE[route.api_key]
        for count, (version, request) in enumerate(requests(row, 7, topic_id)):
            found = answer(listening(cluster, listener, 1 + count % 3), request)
            answered[route.api_key] += bool(found)
            own_addresses[route.api_key] += HOSTS[listener].encode() in found
            leaked = [each for each in (*foreign, *names) if each in found]
            assert not leaked, f"{row.name} version {version} on {listener} tells {leaked}: {found!r}"
    # The search is effective: the responses that must contain addresses did contain them.
    assert {key for key, times in own_addresses.items() if times} >= TELLING
    assert {key for key, times in answered.items() if not times} <= {ApiKey.ENVELOPE}  # an empty Envelope is malformed


def stored_controller_epoch(cluster: Cluster) -> int:
    store = cluster.nodes[1].components.context.store
    entry = cluster.run(store.read(CONTROLLER_EPOCH))
    assert entry is not None
    return decode_controller_epoch(entry.data)


@pytest.mark.spec("L9")
@pytest.mark.parametrize("version", range(9))
def test_every_version_of_update_metadata_is_understood(version: int) -> None:
    """A controller of any release sends a second broker's endpoints, and clients get them on the listener that they
    use."""
    overrides = {
        "listeners": "PLAINTEXT://127.0.0.1:0,EXTRA://127.0.0.2:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,EXTRA:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "control.plane.listener.name": "",
        "control.plane.force.controller.requests.enable": "false",
        "signalbox.audit.enable": "false",
    }
    update = UpdateMetadataRequest(controller_id=9)
    update.live_brokers = [
        UpdateMetadataRequest.UpdateMetadataBroker(
            id=broker_id,
            v0_host=host,
            v0_port=9092,
            endpoints=[UpdateMetadataRequest.UpdateMetadataEndpoint(port=9092, host=host, listener="PLAINTEXT")],
        )
        for broker_id, host in ((8, "eight.example"), (9, "nine.example"))
    ]
    with Cluster(1, overrides=overrides) as alone, Wire(listening(alone, "PLAINTEXT", 1)) as wire:
        update.controller_epoch = stored_controller_epoch(alone)  # an epoch from the future would be rejected
        assert wire.ask(ApiKey.UPDATE_METADATA, version, update).error_code == 0
        answered = wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[]))
        assert {(each.node_id, each.host, each.port) for each in answered.brokers} == {
            (8, "eight.example", 9092),
            (9, "nine.example", 9092),
        }
        with Wire(listening(alone, "EXTRA", 1)) as elsewhere:
            assert elsewhere.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[])).brokers == []
