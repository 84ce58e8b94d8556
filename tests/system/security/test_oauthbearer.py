"""L7: OAUTHBEARER with confluent-kafka's `oauth_cb`, keys in a file; sessions end with their tokens (KIP-368)."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from signalbox.client.admin import AdminClient as OurAdmin
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.testing.cluster import Cluster
from tests.security.issuer import Endpoint, HttpResponder, Issuer, answering, forged, key_file, key_set
from tests.system.provision import java, java_class

NEEDS = (partial(java_class, "Renewal.java", "clients"),)
pytestmark = pytest.mark.spec("L7")
ISSUER = Issuer("ES256")
_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
_LOGIN_HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
_LISTENERS = ("CLIENT", "TOKEN", "REPLICATION", "CONTROL")
Token = Callable[[], str]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    prefix = "listener.name.token.oauthbearer."
    overrides = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in _LISTENERS),
        "listener.security.protocol.map": ",".join(
            f"{name}:{'SASL_PLAINTEXT' if name == 'TOKEN' else 'PLAINTEXT'}" for name in _LISTENERS
        ),
        "listener.name.token.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{prefix}sasl.jaas.config": _MODULE,
        f"{prefix}sasl.oauthbearer.jwks.endpoint.url": key_file(tmp_path_factory.mktemp("keys"), ISSUER),
        f"{prefix}sasl.oauthbearer.expected.audience": "kafka",
        f"{prefix}sasl.oauthbearer.expected.issuer": "https://issuer",
    }
    with Cluster(2, overrides=overrides) as cluster:
        yield cluster


def good(lasts_s: float = 3600) -> str:
    return ISSUER.token("alice", aud="kafka", iss="https://issuer", exp=time.time() + lasts_s)


def settings(cluster: Cluster, token: Token, lasts_s: float = 3600) -> dict[str, Any]:
    servers = [str(node.describe()["listeners"]["TOKEN"]) for node in cluster.nodes.values()]
    return {
        "bootstrap.servers": ",".join(servers),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _: (token(), time.time() + lasts_s),
        "log_level": 0,
    }


def counted(cluster: Cluster, name: str) -> float:
    registries = [node.components.telemetry.metrics for node in cluster.nodes.values()]
    samples = [sample for registry in registries for sample in registry.samples() if sample.name.name == name]
    return sum(sample.value for sample in samples if ("listener", "TOKEN") in sample.tags)


def admin_of(configuration: dict[str, Any]) -> AdminClient:
    admin = AdminClient(configuration)
    admin.poll(0)  # starts the first request for a token
    return admin


def test_records_go_in_and_come_out(cluster: Cluster) -> None:
    configuration = settings(cluster, good)
    admin = admin_of(configuration)
    for created in admin.create_topics([NewTopic("tokens", 2, 2)]).values():
        created.result(20)
    producer = Producer({**configuration, "enable.idempotence": True})
    for number in range(300):
        producer.produce("tokens", str(number))
    assert producer.flush(30) == 0
    consumer = Consumer({**configuration, "group.id": "tokens", "auto.offset.reset": "earliest"})
    consumer.subscribe(["tokens"])
    read: set[int] = set()
    deadline = time.monotonic() + 30
    while len(read) < 300 and time.monotonic() < deadline:
        read |= {int(each.value() or b"") for each in consumer.consume(300, 1) if each.error() is None}
    consumer.close()
    assert read == set(range(300))
    assert counted(cluster, "successful-authentication-total") >= 3


def test_a_client_renews_its_session_before_the_token_ends(cluster: Cluster) -> None:
    expired = counted(cluster, "expired-connections-killed-count")
    renewed = counted(cluster, "successful-reauthentication-total")
    failures: list[object] = []
    producer = Producer({**settings(cluster, lambda: good(6), 6), "acks": "all"})
    delivered = 0

    def on_delivery(error: object, _: object) -> None:
        nonlocal delivered
        if error is None:
            delivered += 1
        else:
            failures.append(error)

    deadline = time.monotonic() + 40
    while counted(cluster, "successful-reauthentication-total") < renewed + 3:
        assert time.monotonic() < deadline, "no session is renewed"
        producer.produce("renewed", b"x", on_delivery=on_delivery)
        producer.poll(0.05)
    assert producer.flush(20) == 0
    assert failures == []
    assert delivered > 20
    assert counted(cluster, "expired-connections-killed-count") == expired


@pytest.mark.parametrize(
    "token",
    [
        lambda: good(-60),
        lambda: ISSUER.token("alice", aud="kafka", iss="https://issuer", nbf=time.time() + 600),
        lambda: ISSUER.token("alice", aud="billing", iss="https://issuer"),
        lambda: ISSUER.token("alice", aud="kafka", iss="https://evil"),
        lambda: Issuer("ES256").token("alice", aud="kafka", iss="https://issuer"),
        lambda: forged(
            {"alg": "none"}, {"sub": "alice", "aud": "kafka", "iss": "https://issuer", "exp": 2**33, "iat": 0}
        ),
    ],
    ids=["expired", "not-yet-valid", "wrong-audience", "wrong-issuer", "wrong-key", "unsigned"],
)
def test_wrong_credentials_are_rejected(cluster: Cluster, token: Token) -> None:
    failed = counted(cluster, "failed-authentication-total")
    with pytest.raises(KafkaException):
        admin_of(settings(cluster, token)).list_topics(timeout=1.5)
    assert counted(cluster, "failed-authentication-total") > failed
    assert admin_of(settings(cluster, good)).list_topics(timeout=20).brokers


def issuing(lasts_s: float, **claims: str) -> HttpResponder:
    """A token endpoint: a client that sends a valid client secret gets a token."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        user, _, secret = base64.b64decode(handler.headers["Authorization"].split()[1]).decode().partition(":")
        if secret != f"{user}-secret":
            answering(b"{}", 401)(handler)
        else:
            given: dict[str, Any] = {"exp": time.time() + lasts_s, **claims}
            token = ISSUER.token(user, **given)
            answering(json.dumps({"access_token": token, "token_type": "Bearer"}).encode())(handler)

    return answer


def test_brokers_log_in_at_each_other_with_tokens_of_an_endpoint_and_renew_them() -> None:
    """The keys come from a JWKS endpoint, the tokens expire after six seconds; no record is lost when they do."""
    with Endpoint(answering(key_set(ISSUER))).open() as keys, Endpoint(issuing(6)).open() as tokens:
        overrides = {
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
            "listener.security.protocol.map": "CLIENT:PLAINTEXT,REPLICATION:SASL_PLAINTEXT,CONTROL:SASL_PLAINTEXT",
            "sasl.oauthbearer.jwks.endpoint.url": keys.url,
            "sasl.oauthbearer.token.endpoint.url": tokens.url,
            "sasl.login.refresh.buffer.seconds": "1",
            "sasl.login.refresh.min.period.seconds": "1",
        }
        module = _MODULE.replace(";", ' clientId="broker" clientSecret="broker-secret";')
        for listener in ("replication", "control"):
            overrides[f"listener.name.{listener}.oauthbearer.sasl.jaas.config"] = module
        with Cluster(2, overrides=overrides) as cluster:
            first = tokens.asked
            producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all", "log_level": 0})
            failures: list[object] = []
            deadline = time.monotonic() + 40
            while tokens.asked < first + 10:
                assert time.monotonic() < deadline, "tokens are not renewed"
                producer.produce(
                    "replicated", b"x", on_delivery=lambda error, _: failures.append(error) if error else None
                )
                producer.poll(0.05)
            assert producer.flush(20) == 0
            assert failures == []
            killed = [
                node.components.server.planes[plane].expired_connections_killed
                for node in cluster.nodes.values()
                for plane in ("data", "control")
            ]
            assert killed == [0, 0, 0, 0]  # every broker has re-authenticated in time
            in_sync = [
                partition.error is None and len(partition.isrs)
                for partition in AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
                .list_topics("replicated", 10)
                .topics["replicated"]
                .partitions.values()
            ]
            assert set(in_sync) == {2}


_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"


def test_the_java_client_renews_its_session_with_new_tokens(cluster: Cluster, tmp_path: Path) -> None:
    class_path = java_class("Renewal.java", "clients")
    renewed = counted(cluster, "successful-reauthentication-total")
    expired = counted(cluster, "expired-connections-killed-count")
    with Endpoint(issuing(6, aud="kafka", iss="https://issuer")).open() as tokens:
        properties = {
            "bootstrap.servers": settings(cluster, good)["bootstrap.servers"],
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.login.callback.handler.class": _LOGIN_HANDLER,
            "sasl.oauthbearer.token.endpoint.url": tokens.url,
            "sasl.jaas.config": _MODULE.replace(";", ' clientId="java" clientSecret="java-secret";'),
            "sasl.login.refresh.min.period.seconds": "1",
            "sasl.login.refresh.buffer.seconds": "1",
            "acks": "all",
            "retries": "0",
        }
        path = tmp_path / "client.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={tokens.url}"
        run = subprocess.run(
            [*java(_QUIET, allowed), "-cp", class_path, "Renewal", str(path), "java", "14"],
            capture_output=True,
            text=True,
            timeout=100,
        )
    assert run.returncode == 0, run.stderr
    figures = dict(line.split() for line in run.stdout.splitlines())
    assert figures["failed"] == "0", run.stderr
    assert int(figures["acknowledged"]) > 20
    assert counted(cluster, "successful-reauthentication-total") >= renewed + 2
    assert counted(cluster, "expired-connections-killed-count") == expired


def test_our_own_admin_client_logs_in_with_a_token_from_a_file(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(good())
    given = {
        "bootstrap.servers": settings(cluster, good)["bootstrap.servers"],
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": _MODULE,
        "sasl.oauthbearer.token.endpoint.url": (tmp_path / "token").as_uri(),
    }

    async def ask() -> set[int]:
        async with OurAdmin(ClusterClient(ClientSettings.from_properties(given))) as admin:
            return {node.node_id for node in (await admin.describe_cluster()).nodes}

    assert asyncio.run(ask()) == set(cluster.nodes)
