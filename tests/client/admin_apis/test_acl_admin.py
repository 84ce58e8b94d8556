"""ACLs through the admin client, on a broker that enforces them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.acl_admin import text_of
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.security.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from signalbox.security.acl_filter import AclFilter
from signalbox.testing.cluster import Cluster

READ = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)
TOPIC = AclBinding(ResourcePattern(ResourceType.TOPIC, "t"), READ)
PREFIX = AclBinding(
    ResourcePattern(ResourceType.GROUP, "g-", PatternType.PREFIXED),
    AccessControlEntry("User:b", "10.0.0.1", AclOperation.ALL, AclPermission.DENY),
)
NAMELESS = AclBinding(ResourcePattern(ResourceType.TOPIC, ""), READ)


@pytest.fixture(scope="module")
def guarded() -> Iterator[Cluster]:
    overrides = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", "super.users": "User:ANONYMOUS"}
    with Cluster(brokers=1, overrides=overrides) as cluster:
        yield cluster


def test_create_describe_and_delete(guarded: Cluster) -> None:
    async def run() -> None:
        async with AdminClient.of(guarded.bootstrap_servers) as admin:
            results = await admin.create_acls([TOPIC, PREFIX, NAMELESS])
            assert [result.error for result in results.values()] == [0, 0, Error.INVALID_REQUEST]
            assert set(await admin.describe_acls()) == {TOPIC, PREFIX}
            assert await admin.describe_acls(AclFilter(ResourceType.GROUP, "g-1", PatternType.MATCH)) == [PREFIX]
            assert await admin.delete_acls([AclFilter(principal="User:a"), AclFilter(host="nowhere")]) == [TOPIC]
            assert await admin.describe_acls() == [PREFIX]
            with pytest.raises(KafkaError, match="Unknown entryFilter"):
                await admin.delete_acls([AclFilter(operation=AclOperation.UNKNOWN)])
            assert await admin.delete_acls([AclFilter()]) == [PREFIX]

    guarded.run(run())


def test_an_acl_in_a_line() -> None:
    assert text_of(TOPIC) == "User:a may READ TOPIC t from *"
    assert text_of(PREFIX) == "User:b may not ALL GROUP g-* from 10.0.0.1"
