"""Delegation tokens in a running cluster on both stores: created through a broker that is not the controller, used at
every other broker, with Kafka's own tool and Java client, until they expire; no HMAC is left in any file."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from kazoo.client import KazooClient
from tools.chaos.state_reader import state_in_file

from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_acls import CreateAclsRequest
from signalbox.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from signalbox.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.authorizer import AllowAllAuthorizer
from signalbox.security.delegation_token import TokenSecret
from signalbox.security.request_context import RequestContext
from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.zookeeper import ensemble
from tests.system import provision
from tests.system.clusters import BROKERS, QUICK
from tests.system.console_tools import tool
from tests.system.guarded import (
    ADMIN_PASSWORD,
    SCRAM_MODULE,
    Guarded,
    ask,
    command_config,
    known_everywhere,
    let_in,
    login,
    set_user,
)
from tests.system.provision import command, jars
from tests.system.wire import Closed, Wire, dial, log_in, log_in_by_scram
from tests.waiting import until

NEEDS = (partial(command, "javac"), partial(jars, "tools"))
pytestmark = [pytest.mark.timeout(240), pytest.mark.spec("F2")]

SECRET = "a secret of this test"
PASSWORD = "erin-s3cret"
OVER = {"delegation.token.secret.key": SECRET, "delegation.token.expiry.check.interval.ms": "200"}


@dataclass(frozen=True)
class Token:
    token_id: str
    hmac: bytes
    expiry_ms: int
    max_ms: int

    @property
    def password(self) -> str:
        return base64.b64encode(self.hmac).decode()


@pytest.fixture(scope="module", params=["sqlite", "zookeeper"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("tokens")
    if request.param == "sqlite":
        with Guarded(folder, OVER) as running:
            set_user(running, "erin", PASSWORD)
            yield running
        return
    provision.zookeeper()
    with ensemble(tmp_path_factory.mktemp("zookeeper")) as (server,):
        store = {"signalbox.metadata.store": f"zookeeper:{server.address}/tokens"}
        with Guarded(folder, {**OVER, **store}) as running:
            set_user(running, "erin", PASSWORD)
            yield running


def as_user(cluster: ProcessCluster, node_id: int, user: str = "erin", password: str = PASSWORD) -> Wire:
    """A connection to exactly this broker."""
    wire = dial(cluster, node_id)
    assert log_in_by_scram(wire, "SCRAM-SHA-256", user, password).error_code == 0
    return wire


def create(wire: Wire, max_lifetime_ms: int = -1, **fields: Any) -> Token:
    wanted = CreateDelegationTokenRequest(max_lifetime_ms=max_lifetime_ms, **fields)
    made = wire.ask(ApiKey.CREATE_DELEGATION_TOKEN, 3, wanted)
    assert Error.of(made.error_code) is Error.NONE
    return Token(made.token_id, bytes(made.hmac), made.expiry_timestamp_ms, made.max_timestamp_ms)


def described_ids(wire: Wire) -> set[str]:
    answer = wire.ask(ApiKey.DESCRIBE_DELEGATION_TOKEN, 3, DescribeDelegationTokenRequest(owners=None))
    assert answer.error_code == 0
    return {token.token_id for token in answer.tokens}


def _keeps_out(cluster: ProcessCluster, node_id: int, token: Token) -> bool:
    return not lets_in(cluster, node_id, token)


def lets_in(cluster: ProcessCluster, node_id: int, token: Token, mechanism: str = "SCRAM-SHA-256") -> bool:
    with dial(cluster, node_id) as wire:
        answer = log_in_by_scram(wire, mechanism, token.token_id, token.password, token_auth=True)
        assert answer.error_code in (Error.NONE, Error.SASL_AUTHENTICATION_FAILED)
        return answer.error_code == Error.NONE


def by_token(cluster: Guarded, node_id: int, token: Token) -> Wire:
    until(partial(lets_in, cluster, node_id, token), f"the token on broker {node_id}")
    wire = dial(cluster, node_id)
    log_in_by_scram(wire, "SCRAM-SHA-256", token.token_id, token.password, token_auth=True)
    return wire


def create_topic(wire: Wire, name: str) -> Error:
    topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    [made] = wire.ask(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[topic], timeout_ms=10_000)).topics
    return Error.of(made.error_code)


@pytest.mark.spec("F1", "F14")
def test_made_through_a_follower_shown_to_every_broker_ended_everywhere(cluster: Guarded) -> None:
    with as_user(cluster, cluster.follower) as erin:
        token = create(erin)
        assert token.hmac == TokenSecret(SECRET).hmac(token.token_id)
        for node_id in BROKERS:
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
                until(partial(lets_in, cluster, node_id, token, mechanism), f"the token on broker {node_id}")
            wrong = Token(token.token_id, token.hmac[::-1], 0, 0)
            assert not lets_in(cluster, node_id, wrong)
            with as_user(cluster, node_id) as again:
                assert token.token_id in described_ids(again)
        renewed = erin.ask(
            ApiKey.RENEW_DELEGATION_TOKEN, 2, RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=10**12)
        )
        assert (renewed.error_code, renewed.expiry_timestamp_ms) == (0, token.max_ms)
        open_ones = [by_token(cluster, node_id, token) for node_id in BROKERS]
        for wire in open_ones:
            wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[]))
        end = ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=-1)
        assert erin.ask(ApiKey.EXPIRE_DELEGATION_TOKEN, 2, end).error_code == 0
        for node_id in BROKERS:
            until(partial(_keeps_out, cluster, node_id, token), "its end")
        for wire in open_ones:
            with pytest.raises((Closed, OSError)):
                wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[]))
        assert token.token_id not in described_ids(erin)


@pytest.mark.spec("F7")
def test_who_came_by_a_token_has_its_owners_rights_and_gets_no_token(cluster: Guarded) -> None:
    with as_user(cluster, 1, "admin", ADMIN_PASSWORD) as admin:
        of_admin = create(admin)
    with as_user(cluster, cluster.follower) as erin:
        of_erin = create(erin)
    with by_token(cluster, cluster.follower, of_erin) as wire:
        assert create_topic(wire, "erins-by-token") is Error.TOPIC_AUTHORIZATION_FAILED
    for node_id in BROKERS:
        with by_token(cluster, node_id, of_admin) as wire:
            assert create_topic(wire, f"admins-by-token-{node_id}") in (Error.NONE, Error.TOPIC_ALREADY_EXISTS)
            for api_key, version, body in (
                (ApiKey.CREATE_DELEGATION_TOKEN, 3, CreateDelegationTokenRequest()),
                (ApiKey.RENEW_DELEGATION_TOKEN, 2, RenewDelegationTokenRequest(hmac=of_admin.hmac)),
                (ApiKey.EXPIRE_DELEGATION_TOKEN, 2, ExpireDelegationTokenRequest(hmac=of_admin.hmac)),
                (ApiKey.DESCRIBE_DELEGATION_TOKEN, 3, DescribeDelegationTokenRequest(owners=None)),
            ):
                rejected = Error.of(wire.ask(api_key, version, body).error_code)
                assert rejected is Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def test_for_another_with_the_right_to_it(cluster: Guarded) -> None:
    whose: Mapping[str, Any] = {"owner_principal_type": "User", "owner_principal_name": "frank"}
    with as_user(cluster, cluster.follower) as erin:
        rejected = erin.ask(ApiKey.CREATE_DELEGATION_TOKEN, 3, CreateDelegationTokenRequest(**whose))
        assert Error.of(rejected.error_code) is Error.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    with as_user(cluster, cluster.follower, "admin", ADMIN_PASSWORD) as admin:
        of_frank = create(admin, **whose)
        [token] = [
            each
            for each in admin.ask(
                ApiKey.DESCRIBE_DELEGATION_TOKEN, 3, DescribeDelegationTokenRequest(owners=None)
            ).tokens
            if each.token_id == of_frank.token_id
        ]
        assert (token.principal_name, token.token_requester_principal_name) == ("frank", "admin")
    with by_token(cluster, cluster.follower, of_frank) as wire:
        assert create_topic(wire, "franks") is Error.TOPIC_AUTHORIZATION_FAILED, "frank's rights, not admin's"
    right = CreateAclsRequest.AclCreation(
        resource_type=ResourceType.USER, resource_name="User:frank", principal="User:erin", host="*",
        operation=AclOperation.CREATE_TOKENS, permission_type=3,
    )  # fmt: skip
    [given] = ask(cluster, cluster.follower, CreateAclsRequest(creations=[right])).results
    assert given.error_code == 0
    known_everywhere(cluster, "erin", "User:frank", 1)
    with as_user(cluster, cluster.follower) as erin:
        assert create(erin, **whose).hmac


def test_a_session_ends_with_its_token_which_then_is_removed(cluster: Guarded) -> None:
    with as_user(cluster, cluster.follower) as erin:
        token = create(erin, max_lifetime_ms=6_000)
        assert token.expiry_ms == token.max_ms
        until(partial(lets_in, cluster, cluster.follower, token), "the token")
        wire = dial(cluster, cluster.follower)
        answer = log_in_by_scram(wire, "SCRAM-SHA-256", token.token_id, token.password, token_auth=True)
        left_ms = token.expiry_ms - time.time() * 1000
        assert left_ms - 500 < answer.session_lifetime_ms < left_ms + 500
        wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[]))
        until(partial(_is_out, wire), "the session's end")
        assert time.time() * 1000 >= token.expiry_ms
        until(lambda: token.token_id not in described_ids(erin), "its removal")
        assert not lets_in(cluster, cluster.follower, token)


@pytest.mark.slow
def test_kafkas_own_tool_and_java_client(cluster: Guarded, tmp_path: Path) -> None:
    of_erin = [
        "--bootstrap-server",
        cluster.bootstrap(),
        "--command-config",
        command_config(tmp_path, "erin", PASSWORD),
    ]
    made = tool("kafka-delegation-tokens", *of_erin, "--create", "--max-life-time-period", "-1", "--renewer-principal", "User:admin")  # fmt: skip  # noqa: E501
    row = next(line.split() for line in made.splitlines() if "User:erin" in line)
    token = Token(row[0], base64.b64decode(row[1]), 0, 0)
    assert token.hmac == TokenSecret(SECRET).hmac(token.token_id)
    described = tool("kafka-delegation-tokens", *of_erin, "--describe", "--owner-principal", "User:erin")
    assert token.token_id in described
    assert "User:admin" in described
    renewed = tool(
        "kafka-delegation-tokens", *of_erin, "--renew", "--renew-time-period", "-1", "--hmac", token.password
    )
    assert "Completed renew operation" in renewed
    until(lambda: all(lets_in(cluster, node_id, token) for node_id in BROKERS), "the token everywhere")
    config = tmp_path / "token.properties"
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
        f'sasl.jaas.config={SCRAM_MODULE} username="{token.token_id}" password="{token.password}" tokenauth="true";\n'
    )
    by_java = ["--bootstrap-server", cluster.bootstrap(), "--command-config", str(config)]
    assert tool("kafka-topics", *by_java, "--list").split() == [], "erin may see none"
    with pytest.raises(AssertionError, match="delegation token"):
        tool("kafka-delegation-tokens", *by_java, "--describe")
    ended = tool(
        "kafka-delegation-tokens", *of_erin, "--expire", "--expiry-time-period", "-1", "--hmac", token.password
    )
    assert "Completed expire operation" in ended
    until(lambda: not any(lets_in(cluster, node_id, token) for node_id in BROKERS), "its end")


def test_nothing_of_an_hmac_is_left_lying_about(cluster: Guarded) -> None:
    with as_user(cluster, cluster.follower) as erin:
        token = create(
            erin, renewers=[CreateDelegationTokenRequest.CreatableRenewers(principal_type="User", principal_name="gil")]
        )
        renew = RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=-1)
        assert erin.ask(ApiKey.RENEW_DELEGATION_TOKEN, 2, renew).error_code == 0
        bad = RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=-1).encode(2)[:-3]
        with pytest.raises(Closed):
            erin.ask_raw(ApiKey.RENEW_DELEGATION_TOKEN, 2, bad)
    events = _audited(cluster, token)
    shown = (token.hmac, token.password.encode(), token.hmac.hex().encode(), base64.urlsafe_b64encode(token.hmac))
    text = json.dumps(events).encode()
    assert not any(each in text for each in shown)
    for file in (path for path in cluster.folder.rglob("*") if path.is_file()):
        data = file.read_bytes()
        assert not any(each in data for each in shown), file
        assert file.name == "server.properties" or SECRET.encode() not in data, file


def _is_out(wire: Wire) -> bool:
    try:
        wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[]))
    except Closed:
        return True
    return False


def _audited(cluster: Guarded, token: Token) -> list[dict[str, Any]]:
    """The audit events up to the renewal."""
    consumer = Consumer({**login(cluster), "group.id": f"auditor-{token.token_id}", "auto.offset.reset": "earliest"})
    consumer.subscribe([AUDIT_TOPIC])
    events: list[dict[str, Any]] = []
    try:

        def renewed() -> bool:
            message = consumer.poll(1.0)
            if message is not None and message.error() is None:
                events.append(json.loads(message.value() or b"{}"))
            made = [event for event in events if event["resource"] == "renewer User:gil"]
            return any(
                event["api"] == "RENEW_DELEGATION_TOKEN"
                and (event["broker_id"], event["principal"]) == (first["broker_id"], "User:erin")
                and event["seq"] > first["seq"]
                for event in events
                for first in made
            )

        until(renewed, "the audit trail")
    finally:
        consumer.close()
    return events


@pytest.mark.spec("M2")
@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["zookeeper"], indirect=True)
def test_kafka_39_reads_what_we_store(cluster: Guarded) -> None:
    """Kafka's own classes read the entry's payload and the HMAC, and give the payload as they would write it."""
    with as_user(cluster, cluster.follower) as erin:
        token = create(
            erin,
            renewers=[CreateDelegationTokenRequest.CreatableRenewers(principal_type="User", principal_name="g i:l")],
        )
    client = KazooClient(cluster.store.removeprefix("zookeeper:"))
    client.start()
    payload, _ = client.get(f"/delegation_token/tokens/{token.token_id}")
    changes = [client.get(f"/delegation_token/token_changes/{each}")[0] for each in client.get_children("/delegation_token/token_changes")]  # fmt: skip  # noqa: E501
    client.stop()
    client.close()
    assert token.token_id.encode() in changes
    java = [*provision.java(), "-cp", provision.java_class("Tokens.java", "kafka39"), "Tokens", SECRET]
    run = subprocess.run(java, input=payload, capture_output=True, timeout=60)
    assert run.returncode == 0, run.stderr
    owner, requester, renewers, times, hmac, written = run.stdout.decode().splitlines()
    assert (owner, requester, renewers) == ("User:erin", "User:erin", "User:g i:l")
    assert re.fullmatch(rf"\d+ {token.expiry_ms} {token.max_ms}", times)
    assert hmac == token.password
    assert json.loads(written) == json.loads(payload)


def test_users_of_passwords_are_none_of_tokens(cluster: Guarded) -> None:
    with as_user(cluster, 1) as erin:
        token = create(erin)
    until(partial(lets_in, cluster, 1, token), "the token")
    assert not let_in(cluster, token.token_id, token.password, 1), "without tokenauth it is no password"
    with dial(cluster, 1) as wire:
        rejected = log_in_by_scram(wire, "SCRAM-SHA-256", "erin", PASSWORD, token_auth=True)
        assert rejected.error_code == Error.SASL_AUTHENTICATION_FAILED


_MARK = "test.mark"  # our own key, which the authorizer reads


class DiesBeforeItAnswers(AllowAllAuthorizer):
    """An authorizer that ends its process when the HMAC of a forwarded new token is computed: after the token is stored
    and before a response is sent; once in a cluster."""

    def __init__(self, configuration: Mapping[str, str]) -> None:
        self._mark = Path(configuration[_MARK])

    def authorize(
        self, context: RequestContext, operation: AclOperation, resource_type: ResourceType, resource_name: str
    ) -> bool:
        if operation is AclOperation.CREATE_TOKENS and context.forwarding_principal is not None:
            try:
                self._mark.touch(exist_ok=False)
            except FileExistsError:
                return True
            setattr(TokenSecret, "hmac", lambda *_: os.kill(os.getpid(), signal.SIGKILL))  # noqa: B010 (mypy)
        return True


@pytest.mark.spec("F5", "M3")
def test_the_controller_dies_with_the_commit_and_the_token_is_one(tmp_path: Path) -> None:
    more = {
        **OVER,
        "signalbox.audit.enable": "false",
        "controlled.shutdown.enable": "false",
        "authorizer.class.name": f"{__name__}.DiesBeforeItAnswers",
        _MARK: str(tmp_path / "has-died"),
    }
    with Guarded(tmp_path, more) as cluster, state_in_file(tmp_path / "metadata.db") as state:
        controller, follower = state.controller_id(), cluster.follower
        with as_user(cluster, follower, "admin", ADMIN_PASSWORD) as admin:
            token = create(admin, owner_principal_type="User", owner_principal_name="frank")
            assert not cluster.brokers[controller].running, "the answer came from its successor"
            assert state.controller_id() != controller
            assert token.hmac == TokenSecret(SECRET).hmac(token.token_id)
            assert described_ids(admin) == {token.token_id}
            until(partial(lets_in, cluster, follower, token), "the token")
        with by_token(cluster, follower, token) as wire:
            assert create_topic(wire, "franks") is Error.NONE


@pytest.mark.spec("F15", "F17")
@pytest.mark.parametrize(
    ("controllers", "more"),
    [(2, {}), (0, {"inter.broker.protocol.version": "3.3"})],
    ids=["dedicated controllers", "below the gate of forwarding"],
)
def test_wherever_changes_are_decided(controllers: int, more: Mapping[str, str], tmp_path: Path) -> None:
    listeners = ("CLIENT:SASL_PLAINTEXT", *(f"{name}:PLAINTEXT" for name in ("REPLICATION", "CONTROL", "CONTROLLER")))
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    overrides = {
        **QUICK,
        **OVER,
        **more,
        "listener.security.protocol.map": ",".join(listeners),
        "listener.name.client.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "listener.name.client.plain.sasl.jaas.config": f'{plain} user_erin="{PASSWORD}";',
        "listener.name.client.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE};",
        "signalbox.audit.enable": "false",
    }
    cluster = ProcessCluster(tmp_path, 2, controllers=controllers, overrides=overrides)
    with cluster, state_in_file(tmp_path / "metadata.db") as state:
        for node_id in cluster.brokers:
            with dial(cluster, node_id) as wire:
                assert log_in(wire, "erin", PASSWORD) == 0
                token = create(wire)
                until(partial(let_in_everywhere, cluster, token), "the token everywhere")
                if controllers and node_id == 1:
                    cluster.kill(state.controller_id())
                _renewed_and_ended(cluster, wire, token)


def let_in_everywhere(cluster: ProcessCluster, token: Token) -> bool:
    return all(lets_in(cluster, node_id, token) for node_id in cluster.brokers)


def _renewed_and_ended(cluster: ProcessCluster, wire: Wire, token: Token) -> None:
    renew = RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=10**12)
    renewed = wire.ask(ApiKey.RENEW_DELEGATION_TOKEN, 2, renew)
    assert (renewed.error_code, renewed.expiry_timestamp_ms) == (0, token.max_ms)
    end = ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=-1)
    assert wire.ask(ApiKey.EXPIRE_DELEGATION_TOKEN, 2, end).error_code == 0
    until(lambda: not any(lets_in(cluster, node_id, token) for node_id in cluster.brokers), "its end everywhere")
    short = create(wire, max_lifetime_ms=300)
    until(lambda: short.token_id not in described_ids(wire), "the removal of one whose time is over")
