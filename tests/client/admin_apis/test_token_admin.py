"""Delegation tokens through the admin client, and a client that logs in with one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.token_admin import TokenDescription
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import AuthenticationRejected
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.testing.cluster import Cluster

MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"
OVERRIDES = {
    "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT",
    "listener.name.client.sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "listener.name.client.scram-sha-256.sasl.jaas.config": f'{MODULE} user_alice="alice-secret" user_bob="bob-secret";',
    "delegation.token.secret.key": "the secret",
    "signalbox.audit.enable": "false",
}


@pytest.fixture(scope="module")
def one() -> Iterator[Cluster]:
    with Cluster(brokers=1, overrides=OVERRIDES) as cluster:
        yield cluster


def admin_of(one: Cluster, user: str, password: str, more: str = "") -> AdminClient:
    properties = {
        "bootstrap.servers": one.bootstrap_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f'{MODULE} username="{user}" password="{password}"{more};',
        "default.api.timeout.ms": "5000",
    }
    return AdminClient(ClusterClient(ClientSettings.from_properties(properties)))


def test_create_describe_renew_and_expire(one: Cluster) -> None:
    async def run() -> None:
        async with (
            admin_of(one, "alice", "alice-secret") as alice,
            admin_of(one, "bob", "bob-secret") as bob,
        ):
            made = await alice.create_token(["User:bob"], max_lifetime_ms=600_000)
            assert (made.owner, made.requester, made.renewers) == ("User:alice", "User:alice", ("User:bob",))
            assert made.expiry_ms == made.max_ms == made.issue_ms + 600_000
            assert await alice.describe_tokens() == await bob.describe_tokens(["User:alice"]) == [made]
            assert await alice.describe_tokens(["User:carol"]) == []
            assert made.issue_ms < await bob.renew_token(made.hmac, 1_000) < made.max_ms
            [changed] = await alice.describe_tokens()
            assert await bob.expire_token(made.hmac, 500_000) > changed.expiry_ms
            other = await bob.create_token(owner="User:alice")
            assert (other.owner, other.requester) == ("User:alice", "User:bob"), "no authorizer, no rule"
            for hmac in (made.hmac, other.hmac):
                await alice.expire_token(hmac)
            assert await alice.describe_tokens() == []
            with pytest.raises(KafkaError) as raised:
                await alice.renew_token(made.hmac)
            assert raised.value.error is Error.DELEGATION_TOKEN_NOT_FOUND

    one.run(run())


def test_logging_in_by_one(one: Cluster) -> None:
    async def run() -> None:
        async with admin_of(one, "alice", "alice-secret") as alice:
            made = await alice.create_token()
            await alice.describe_tokens()  # returns when the broker has the token
            async with admin_of(one, made.token_id, made.hmac, ' tokenauth="true"') as by_token:
                await by_token.describe_users()
                with pytest.raises(KafkaError) as raised:
                    await by_token.create_token()
                assert raised.value.error is Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
            for user, password, more in (
                (made.token_id, made.hmac, ""),
                (made.token_id, "guess", ' tokenauth="true"'),
                ("alice", "alice-secret", ' tokenauth="true"'),
            ):
                async with admin_of(one, user, password, more) as rejected:
                    with pytest.raises(AuthenticationRejected, match="invalid credentials"):
                        await rejected.describe_users()

    one.run(run())


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda admin: admin.renew_token("not base64!"), "base64"),
        (lambda admin: admin.expire_token("ü"), "base64"),
        (lambda admin: admin.create_token(owner="alice"), "User:alice"),
        (lambda admin: admin.create_token(["alice"]), "User:alice"),
        (lambda admin: admin.describe_tokens([":"]), "User:alice"),
    ],
)
def test_invalid_arguments(call: Any, says: str) -> None:
    async def run() -> None:
        admin = AdminClient(ClusterClient(ClientSettings.of("127.0.0.1:1")))
        with pytest.raises(ValueError, match=says) as raised:
            await call(admin)
        assert "not base64" not in str(raised.value)

    asyncio.run(run())


def test_an_hmac_shows_in_no_traceback() -> None:
    token = TokenDescription("id", "the hmac", "User:a", "User:a", (), 1, 2, 3)
    assert "the hmac" not in repr(token)
