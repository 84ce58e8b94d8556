"""The same requests about delegation tokens to Apache Kafka 3.9 and to Signalbox: equal responses, to the error code.
Each deviation is a row in docs/conformance.toml."""

from __future__ import annotations

import base64
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from signalbox.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from signalbox.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from signalbox.testing.free_ports import free_ports
from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.zookeeper import ensemble
from tests.system import provision
from tests.system.wire import Closed, Wire, log_in, log_in_by_scram
from tests.waiting import until

NEEDS = (provision.zookeeper, partial(provision.jars, "kafka39"))
pytestmark = [pytest.mark.timeout(240), pytest.mark.slow, pytest.mark.spec("F2")]

USERS = ("alice", "bob", "carol", "admin")
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_KNOWN = " ".join(f'user_{user}="{user}-s3cret"' for user in USERS)
LOGIN = {
    "plain.sasl.jaas.config": f"{_PLAIN} {_KNOWN};",
    "scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
}
BOTH = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:admin;User:ANONYMOUS",
}
SECRETS = pytest.mark.parametrize(
    "secret", [{"delegation.token.secret.key": "the secret"}, {}], ids=["tokens on", "tokens off"]
)
Responses = list[tuple[str, object]]


@contextmanager
def kafka(folder: Path, secret: dict[str, str]) -> Iterator[tuple[str, str]]:
    """A broker of 3.9; the addresses of its SASL listener and of its PLAINTEXT listener."""
    folder.mkdir()
    with ensemble(folder / "zookeeper") as (server,):
        ports = free_ports(2)
        at, in_the_open = (f"127.0.0.1:{port}" for port in ports)
        given = {
            **BOTH,
            **secret,
            **{f"listener.name.s.{key}": text for key, text in LOGIN.items()},
            "broker.id": "1",
            "zookeeper.connect": server.address,
            "log.dirs": str(folder / "data"),
            "listeners": f"S://{at},P://{in_the_open}",
            "listener.security.protocol.map": "S:SASL_PLAINTEXT,P:PLAINTEXT",
            "inter.broker.listener.name": "P",
        }
        file = folder / "server.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
        java = [*provision.java(heap="384m"), "-cp", provision.jars("kafka39")]
        with (folder / "broker.log").open("wb") as log:
            process = subprocess.Popen([*java, "kafka.Kafka", str(file)], stdout=log, stderr=log)
        try:
            until(partial(_is_ready, at), "Apache Kafka", timeout_s=120)
            yield at, in_the_open
        finally:
            process.terminate()
            process.wait(30)


@contextmanager
def signalbox(folder: Path, secret: dict[str, str]) -> Iterator[tuple[str, str]]:
    overrides = {
        **BOTH,
        **secret,
        **{f"listener.name.client.{key}": text for key, text in LOGIN.items()},
        "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT",
    }
    with ProcessCluster(folder, 1, overrides=overrides) as cluster:
        yield cluster.brokers[1].address("CLIENT"), cluster.brokers[1].address("REPLICATION")


def _is_ready(at: str) -> bool:
    try:
        with Wire(at) as wire:
            return log_in(wire, "admin", "admin-s3cret") == 0
    except OSError:
        return False


class Transcript:
    """The responses of one broker. Times are relative to now in units of 100 s, so that the age of a token on a busy
    machine makes no difference; ids and HMACs are replaced by their length."""

    def __init__(self, at: str, in_the_open: str) -> None:
        self._at = at
        self._wires = {user: Wire(at) for user in USERS}
        for user, wire in self._wires.items():
            assert log_in(wire, user, f"{user}-s3cret") == 0
        self._wires["anonymous"] = Wire(in_the_open)
        self.responses: Responses = []

    def ask(self, who: str, request: Any, version: int | None = None) -> Any:
        asked_ms = time.time() * 1000
        key = ApiKey(request.api_key)
        number = type(request).max_version if version is None else version
        try:
            answer = self._wires[who].ask(key, number, request)
        except Closed:
            self.responses.append((f"{who} {key.name} v{number}", "closed"))
            return None
        self.responses.append((f"{who} {key.name} v{number}", _plain(answer, asked_ms)))
        return answer

    def log_in(self, who: str, token_id: str, password: str, token_auth: bool = True) -> None:
        """Logs in with a token, on a new connection that is used for `who` from then on."""
        wire = self._wires[who] = Wire(self._at)
        answer = log_in_by_scram(wire, "SCRAM-SHA-256", token_id, password, token_auth=token_auth)
        lasts_s = round(answer.session_lifetime_ms / 100_000)
        self.responses.append((f"{who} logs in", (Error.of(answer.error_code).name, answer.error_message, lasts_s)))

    def is_over(self, token_id: str, password: str) -> bool:
        """True if a login with the token fails or gives a session of no time. A broker observes a change a moment
        later, and a token that expires in this very millisecond has not expired yet."""
        with Wire(self._at) as wire:
            answer = log_in_by_scram(wire, "SCRAM-SHA-256", token_id, password, token_auth=True)
            return bool(answer.error_code) or answer.session_lifetime_ms == 0

    def close(self) -> None:
        for wire in self._wires.values():
            wire.__exit__()


def _plain(answer: Any, asked_ms: float) -> dict[str, object]:
    found: dict[str, object] = {"error": Error.of(answer.error_code).name}
    for name in answer._attributes:
        value = getattr(answer, name)
        if name.endswith("timestamp_ms"):
            found[name] = value if value <= 0 else round((value - asked_ms) / 100_000)
        elif name in ("token_id", "hmac"):
            found[name] = len(value)
        elif name == "tokens":
            found[name] = sorted(_described(each, asked_ms) for each in value)
        elif name.startswith(("principal", "token_requester")):
            found[name] = value
    return found


def _described(token: Any, asked_ms: float) -> tuple[object, ...]:
    ends = (token.expiry_timestamp, token.max_timestamp)
    renewers = [f"{each.principal_type}:{each.principal_name}" for each in token.renewers]
    whose = (token.principal_name, token.token_requester_principal_name, renewers)
    return (*whose, *(round((end - asked_ms) / 100_000) for end in ends), len(token.hmac))


def _create(owner: str | None = "", kind: str = "User", max_lifetime_ms: int = -1, renewer: str = "") -> Any:
    made = CreateDelegationTokenRequest
    renewer_type, _, name = renewer.partition(":")
    return made(
        owner_principal_type=kind if owner else owner,
        owner_principal_name=owner,
        renewers=[made.CreatableRenewers(principal_type=renewer_type, principal_name=name)] if renewer else [],
        max_lifetime_ms=max_lifetime_ms,
    )


def _describe(*owners: str) -> Any:
    made = DescribeDelegationTokenRequest
    named = [made.DescribeDelegationTokenOwner(principal_type="User", principal_name=owner) for owner in owners]
    return made(owners=named or None)


def transcript(at: str, in_the_open: str) -> Responses:
    transcribed = Transcript(at, in_the_open)
    ask = transcribed.ask
    for version in range(4):
        ask("alice", _create(renewer="User:bob"), version)
    for body in (
        _create(max_lifetime_ms=0),
        _create(max_lifetime_ms=10**15),
        _create(max_lifetime_ms=600_000),
        _create("bob"),
        _create("alice"),
        _create(None),
        _create(renewer="Group:bob"),
        _create("bob", renewer="Group:bob"),
    ):
        ask("alice", body)
    ask("admin", _create("bob"))
    _changes(ask, token := ask("alice", _create(renewer="User:bob")))
    for who in ("alice", "carol", "admin"):
        ask(who, _describe())
        ask(who, _describe("alice"))
    ask("bob", _describe(), 2)
    ask("alice", DescribeDelegationTokenRequest(owners=[]))
    _logins(transcribed, token)
    for body in (_create("bob"), RenewDelegationTokenRequest(), ExpireDelegationTokenRequest(), _describe()):
        ask("anonymous", body)
    ask("anonymous", _create(), 1)
    transcribed.close()
    return transcribed.responses


def _changes(ask: Callable[..., Any], token: Any) -> None:
    def renew(period_ms: int = -1, hmac: bytes = bytes(token.hmac)) -> Any:
        return RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=period_ms)

    def expire(period_ms: int = -1, hmac: bytes = bytes(token.hmac)) -> Any:
        return ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=period_ms)

    for version in range(3):
        ask("alice", renew(), version)
    for who, body in (
        ("bob", renew(500_000)),
        ("carol", renew(500_000)),
        ("admin", renew(500_000)),
        ("bob", renew(10**14)),
        ("alice", renew(hmac=b"junk")),
        ("alice", renew(hmac=b"")),
        ("bob", expire(400_000)),
        ("carol", expire()),
        ("alice", expire(hmac=b"junk")),
    ):
        ask(who, body)


def _logins(transcribed: Transcript, token: Any) -> None:
    hmac = bytes(token.hmac)
    password = base64.b64encode(hmac).decode()
    transcribed.log_in("by token", token.token_id, password)
    for body in (
        _create(),
        RenewDelegationTokenRequest(hmac=hmac),
        ExpireDelegationTokenRequest(hmac=hmac),
        _describe(),
    ):
        transcribed.ask("by token", body)
    transcribed.log_in("a guess", token.token_id, "guess")
    transcribed.log_in("no such token", "none", password)
    transcribed.log_in("a token as a user", token.token_id, password, token_auth=False)
    transcribed.ask("alice", ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=0))
    until(partial(transcribed.is_over, token.token_id, password), "the token's end")
    transcribed.log_in("too late", token.token_id, password)
    transcribed.ask("too late", MetadataRequest(topics=[]), 12)
    for who, body in (
        ("alice", RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=-1)),
        ("carol", RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=-1)),
        ("alice", ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=100)),
        ("alice", ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=-1)),
        ("alice", ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=-1)),
    ):
        transcribed.ask(who, body)


@SECRETS
def test_kafka_sends_the_same_responses(secret: dict[str, str], tmp_path: Path) -> None:
    with kafka(tmp_path / "kafka", secret) as addresses:
        theirs = transcript(*addresses)
    with signalbox(tmp_path / "ours", secret) as addresses:
        ours = transcript(*addresses)
    assert ours == theirs
    errors = {response["error"] for _, response in theirs if isinstance(response, dict)}
    assert ("DELEGATION_TOKEN_AUTH_DISABLED" in errors) == (not secret)
    assert len(errors) >= (7 if secret else 3), "the transcript has found what it looked for"
