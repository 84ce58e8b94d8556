"""kafka-configs and kafka-client-metrics of Apache Kafka against a running cluster: every entity type."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from tests.system.clusters import RoutedCluster
from tests.system.conftest import MakeTopic
from tests.system.console_tools import tool, tried
from tests.system.provision import command, java_class
from tests.waiting import until

NEEDS = (partial(command, "javac"), partial(java_class, "Tools.java", "tools"))
pytestmark = pytest.mark.timeout(240)

Configs = Callable[..., str]


@pytest.fixture
def configs(kafka_bootstrap: str) -> Configs:
    """Runs kafka-configs for an entity: `configs("topics", name, "--describe")`; no name for the default."""

    def run(kind: str, name: str | None, *action: str) -> str:
        entity = ["--entity-type", kind, *(("--entity-default",) if name is None else ("--entity-name", name))]
        return tool("kafka-configs", "--bootstrap-server", kafka_bootstrap, *entity, *action)

    return run


def set_shown_and_removed(configs: Configs, entity: Sequence[str | None], given: str, shown: str) -> None:
    """Sets one config of an entity, describes it and deletes it, as the tool prints it."""
    key = given.split("=")[0]
    assert "Completed updating" in configs(*entity, "--alter", "--add-config", given)
    until(lambda: re.search(shown, configs(*entity, "--describe")), f"{given} of {entity}")
    assert "Completed updating" in configs(*entity, "--alter", "--delete-config", key)
    until(lambda: not re.search(shown, configs(*entity, "--describe")), f"{entity} without {key}")


@pytest.mark.slow
@pytest.mark.spec("F2", "D15")
@pytest.mark.parametrize(
    ("kind", "name", "given", "shown"),
    [
        ("brokers", "2", "log.retention.ms=3600000", r"log.retention.ms=3600000 .*DYNAMIC_BROKER_CONFIG"),
        ("brokers", None, "num.replica.fetchers=2", r"num.replica.fetchers=2 .*DYNAMIC_DEFAULT_BROKER_CONFIG"),
        ("users", "by-tool", "producer_byte_rate=1024", r"user-principal 'by-tool' are producer_byte_rate=1024.0"),
        ("users", None, "consumer_byte_rate=2048", r"default user-principal are consumer_byte_rate=2048.0"),
        ("users", "scram", "SCRAM-SHA-256=[iterations=4096,password=p]", r"SCRAM credential.*SCRAM-SHA-256=iterations"),
        ("clients", "app", "request_percentage=50", r"client-id 'app' are request_percentage=50.0"),
        ("ips", "10.9.8.7", "connection_creation_rate=5", r"ip '10.9.8.7' are connection_creation_rate=5.0"),
        ("client-metrics", "slow", "interval.ms=60000", r"interval.ms=60000 .*CLIENT_METRICS_CONFIG"),
    ],
)
def test_every_type_of_entity(configs: Configs, kind: str, name: str | None, given: str, shown: str) -> None:
    set_shown_and_removed(configs, (kind, name), given, shown)


@pytest.mark.spec("D15")
@pytest.mark.slow
def test_loggers_are_the_asked_brokers_own(cluster: RoutedCluster, configs: Configs) -> None:
    def level(node_id: str) -> str:
        found = re.search(
            r"^\s*signalbox.controller.runtime=(\w+) ", configs("broker-loggers", node_id, "--describe"), re.M
        )
        assert found is not None
        return found[1]

    assert (level("1"), level("2")) == ("INFO", "INFO"), "a change of a broker's loggers applies at once"
    configs("broker-loggers", "2", "--alter", "--add-config", "signalbox.controller.runtime=WARN")
    assert (level("1"), level("2")) == ("INFO", "WARN")
    configs("broker-loggers", "2", "--alter", "--delete-config", "signalbox.controller.runtime")
    assert level("2") == "INFO"
    for given, problem in (
        ("no.such=INFO", "Invalid broker logger(s): no.such"),
        ("root=LOUD", "not a supported log level"),
    ):
        entity = ["--entity-type", "broker-loggers", "--entity-name", "2", "--alter", "--add-config", given]
        rejected = tried("kafka-configs", "--bootstrap-server", cluster.bootstrap(), *entity)
        assert rejected.code == 1
        assert problem in rejected.out + rejected.err


@pytest.mark.slow
def test_entities_are_described_without_a_name(kafka_bootstrap: str, configs: Configs, make_topic: MakeTopic) -> None:
    topic = make_topic()
    at = ["--bootstrap-server", kafka_bootstrap, "--describe", "--entity-type"]
    configs("client-metrics", "everyone", "--alter", "--add-config", "metrics=org.apache.kafka")
    configs("groups", "app", "--alter", "--add-config", "consumer.session.timeout.ms=50000")
    for kind, shown in (
        ("topics", f"Dynamic configs for topic {topic} are:"),
        ("brokers", "Dynamic configs for broker 3 are:"),
        ("client-metrics", "Dynamic configs for client-metric everyone are:"),
        ("groups", "Dynamic configs for group app are:"),
    ):
        assert shown in tool("kafka-configs", *at, kind)
    configs("client-metrics", "everyone", "--alter", "--delete-config", "metrics")
    configs("groups", "app", "--alter", "--delete-config", "consumer.session.timeout.ms")


@pytest.mark.spec("D15")
@pytest.mark.slow
def test_subscriptions_to_clients_metrics(kafka_bootstrap: str) -> None:
    at = ["--bootstrap-server", kafka_bootstrap]

    def described() -> str:
        return tool("kafka-client-metrics", *at, "--describe", "--name", "by-tool")

    alter = ["--alter", "--name", "by-tool", "--metrics", "org.apache.kafka.producer.", "--interval", "5000"]
    tool("kafka-client-metrics", *at, *alter, "--match", "client_id=app.*")
    assert "by-tool" in tool("kafka-client-metrics", *at, "--list").split()
    until(lambda: "interval.ms=5000" in described(), "the subscription")
    assert "match=client_id=app.*" in described()
    rejected = tried("kafka-client-metrics", *at, "--alter", "--name", "by-tool", "--match", "shoe_size=44")
    assert rejected.code == 1
    assert "Illegal client matching pattern: shoe_size=44" in rejected.out + rejected.err
    tool("kafka-client-metrics", *at, "--delete", "--name", "by-tool")
    assert "by-tool" not in tool("kafka-client-metrics", *at, "--list").split()
