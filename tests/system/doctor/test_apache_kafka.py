"""The doctor on Apache Kafka 4.4, which has ApiVersions 5, and on 4.0 and 3.9, which do not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.common.ids import Grade
from signalbox.doctor.observations import Examination
from signalbox.testing.switchboard_rewrite import EVERY_ADDRESS_API, WireRewrite
from tests.doctor.stories.ground import examine_entries, findings_of
from tests.system.doctor.apache_cluster import MECHANISMS, NODES, PROTOCOLS, ApacheCluster, login
from tests.system.provision import command, jars

NEEDS = (partial(command, "mvn"), *(partial(jars, project) for project in ("kafka44", "kafka40", "kafka39")))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), pytest.mark.spec("R8")]

_NEW = "kafka44"


@pytest.fixture(scope="module", params=["kafka44", "kafka40", "kafka39"])
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheCluster]:
    with ApacheCluster(request.param, tmp_path_factory.mktemp(request.param)) as cluster:
        asyncio.run(_create_topic(cluster))
        yield cluster


async def _create_topic(cluster: ApacheCluster) -> None:
    """A topic whose partitions have one replica each, on all nodes."""
    async with AdminClient(ClusterClient(ClientSettings.of(cluster.entry("CLIENT")))) as admin:
        while len((await admin.describe_cluster()).nodes) < len(NODES):
            pass
        await admin.create_topic("orders", 6, 1)


@pytest.fixture(autouse=True)
def _restored(kafka: ApacheCluster) -> Iterator[None]:
    yield
    kafka.board.restore(*map(str, NODES))


def codes(examination: Examination, before: Examination | None = None) -> list[str]:
    return sorted({finding.code for finding in findings_of(examination, before)})


def grades(examination: Examination) -> set[Grade]:
    return {
        connection.grade
        for listener in examination.listeners
        for row in listener.advertised
        for connection in row.connections
    }


def _is_new(kafka: ApacheCluster, request: pytest.FixtureRequest) -> bool:
    return _NEW in request.node.name


@pytest.mark.parametrize("listener", PROTOCOLS)
def test_no_false_alarm_on_any_listener(kafka: ApacheCluster, listener: str, request: pytest.FixtureRequest) -> None:
    """CLIENT is advertised by the ports of a switchboard: a port mapping."""
    examination = examine_entries(kafka.entry(listener), configs={0: kafka.properties(listener)})
    assert codes(examination) == [], findings_of(examination)
    (found,) = examination.listeners
    assert [row.answering for row in found.advertised] == [(1,), (2,), (3,)]
    assert grades(examination) == {Grade.VERIFIED if _is_new(kafka, request) else Grade.CONFIGS}
    assert {row.source for row in found.view.endpoints} >= {"DescribeCluster", "Fetch"}


def test_no_false_alarm_with_all_listeners_at_once_and_nothing_is_created(kafka: ApacheCluster) -> None:
    configs = {index: kafka.properties(listener) for index, listener in enumerate(PROTOCOLS)}
    examination = examine_entries(*map(kafka.entry, PROTOCOLS), configs=configs)
    assert codes(examination) == []

    async def topics() -> list[str]:
        async with AdminClient(ClusterClient(ClientSettings.of(kafka.entry("CLIENT")))) as admin:
            return sorted(await admin.list_topics(internal=True))

    assert asyncio.run(topics()) == ["orders"]


def test_a_load_balancer_before_the_bootstrap_server(kafka: ApacheCluster) -> None:
    assert codes(examine_entries(kafka.line("balancer"))) == ["LOAD_BALANCER"]


def test_crossed_and_balanced_addresses(kafka: ApacheCluster) -> None:
    kafka.board.swap("2", "3")
    assert codes(examine_entries(kafka.line("1"))) == ["CROSSED"]
    kafka.board.restore("2", "3")
    homes = [("127.0.0.1", kafka.ports[node_id]["CLIENT"]) for node_id in NODES]
    kafka.board.rewire("2", homes[1], homes[2], homes[0])
    assert codes(examine_entries(kafka.line("1"))) == ["BALANCED"]


def test_a_proxy_that_leaks_addresses(kafka: ApacheCluster) -> None:
    """The lines are the proxy here: they show themselves in Metadata as "localhost", and Fetch is not changed."""
    shown = {node_id: ("localhost", kafka.board.line(str(node_id)).address[1]) for node_id in NODES}
    for node_id in NODES:
        kafka.board.rewrite(str(node_id), WireRewrite(addresses=shown))
    assert codes(examine_entries(kafka.line("1"))) == ["ADDRESSES_REWRITTEN", "LEAKED_ADDRESS"]
    for node_id in NODES:
        kafka.board.rewrite(str(node_id), WireRewrite(addresses=shown, apis=EVERY_ADDRESS_API))
    assert codes(examine_entries(kafka.line("1"))) == ["ADDRESSES_REWRITTEN"]


def test_a_client_with_another_security_protocol(kafka: ApacheCluster) -> None:
    def first(listener: str, other: str) -> tuple[str, str]:
        found = findings_of(examine_entries(kafka.entry(listener), configs={0: kafka.properties(other)}))
        return found[0].code, found[0].value

    assert first("TLS", "CLIENT") == ("TLS_EXPECTED", "SSL")
    assert first("CLIENT", "TLS") == ("TLS_MISSING", "PLAINTEXT")
    assert first("SASL", "CLIENT") == ("SASL_EXPECTED", "SASL_PLAINTEXT")
    assert first("BOTH", "TLS") == ("SASL_EXPECTED", "SASL_SSL")
    assert first("CLIENT", "SASL") == ("SASL_MISSING", "PLAINTEXT")


@pytest.mark.parametrize("listener", ["BOTH", "SCRAM"])
def test_a_wrong_password(kafka: ApacheCluster, listener: str) -> None:
    wrong = {**kafka.properties(listener), "sasl.jaas.config": login(MECHANISMS[listener], "a-wrong-secret")}
    assert codes(examine_entries(kafka.entry(listener), configs={0: wrong})) == ["AUTHENTICATION"]


@pytest.mark.parametrize(("listener", "offered"), [("SASL", "PLAIN"), ("SCRAM", "SCRAM-SHA-512")])
def test_a_mechanism_that_the_listener_does_not_have(kafka: ApacheCluster, listener: str, offered: str) -> None:
    other = {
        **kafka.properties(listener),
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": login("OAUTHBEARER"),
    }
    (finding,) = findings_of(examine_entries(kafka.entry(listener), configs={0: other}))
    assert (finding.code, finding.key, finding.value) == ("SASL_MECHANISM", "sasl.mechanism", offered)


def test_a_listener_that_wants_a_certificate_of_the_client(kafka: ApacheCluster) -> None:
    (finding,) = findings_of(examine_entries(kafka.entry("MUTUAL"), configs={0: kafka.properties("TLS")}))
    assert (finding.code, finding.key) == ("CLIENT_CERTIFICATE", "ssl.keystore.location")
