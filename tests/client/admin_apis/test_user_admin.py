"""SCRAM users through the admin client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from signalbox.client.admin import AdminClient
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.security.sasl.scram_messages import make_credential
from signalbox.testing.cluster import Cluster


@pytest.fixture(scope="module")
def one() -> Iterator[Cluster]:
    with Cluster(brokers=1) as cluster:
        yield cluster


def test_set_describe_and_delete(one: Cluster) -> None:
    async def run() -> None:
        async with AdminClient.of(one.bootstrap_servers) as admin:
            await admin.set_user("alice", "secret")
            await admin.set_user("alice", "secret", "SCRAM-SHA-512", 8192)
            described = {"alice": {"SCRAM-SHA-256": 4096, "SCRAM-SHA-512": 8192}}
            assert await admin.describe_users() == await admin.describe_users(["alice"]) == described
            await admin.delete_user("alice")
            assert await admin.describe_users() == {"alice": {"SCRAM-SHA-512": 8192}}
            await admin.delete_user("alice", "SCRAM-SHA-512")
            assert await admin.describe_users() == {}

    one.run(run())


def test_the_password_is_the_one_that_was_set(one: Cluster) -> None:
    async def run() -> None:
        async with AdminClient.of(one.bootstrap_servers) as admin:
            await admin.set_user("bob", "pässword, with = all", "SCRAM-SHA-512")
            await admin.describe_users()  # returns when the broker has the user
        stored = one.nodes[1].components.context.users.scram_credential("SCRAM-SHA-512", "bob")
        assert stored is not None
        assert stored == make_credential("SCRAM-SHA-512", "pässword, with = all", stored.salt)

    one.run(run())


def test_rejections_are_reported(one: Cluster) -> None:
    async def run() -> None:
        async with AdminClient.of(one.bootstrap_servers) as admin:
            for rejected, error in (
                (admin.set_user("u", "p", iterations=0), Error.UNACCEPTABLE_CREDENTIAL),
                (admin.delete_user("unknown"), Error.RESOURCE_NOT_FOUND),
                (admin.describe_users(["unknown"]), Error.RESOURCE_NOT_FOUND),
            ):
                with pytest.raises(KafkaError) as raised:
                    await rejected
                assert raised.value.error == error
            for call in (admin.set_user("u", "p", mechanism="PLAIN"), admin.delete_user("u", mechanism="PLAIN")):
                with pytest.raises(ValueError, match="PLAIN is no SCRAM mechanism"):
                    await call

    one.run(run())
