from __future__ import annotations

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.quota_admin import ANY_NAME, quota_entity
from signalbox.protocol.error_table import Error
from signalbox.testing.cluster import Cluster
from tests.client.admin_apis.over_cluster import over_cluster

ALICE = quota_entity({"user": "alice"})
DEFAULT = quota_entity({"user": None})
ALICE_APP = quota_entity({"user": "alice", "client-id": "app"})


@pytest.mark.spec("R10")
def test_quotas_are_set_found_and_removed(cluster: Cluster) -> None:
    async def test(admin: AdminClient) -> None:
        changes = {
            ALICE: {"producer_byte_rate": 1_000.0, "consumer_byte_rate": 2_000.0},
            DEFAULT: {"producer_byte_rate": 500.0},
            ALICE_APP: {"request_percentage": 50.0},
        }
        assert (await admin.alter_quotas(changes, validate_only=True))[ALICE].error == Error.NONE
        assert await admin.describe_quotas() == {}
        results = await admin.alter_quotas(changes)
        assert {entity: result.error for entity, result in results.items()} == dict.fromkeys(changes, Error.NONE)
        assert await admin.describe_quotas() == changes
        assert await admin.describe_quotas({"user": "alice"}) == {ALICE: changes[ALICE], ALICE_APP: changes[ALICE_APP]}
        assert await admin.describe_quotas({"user": "alice"}, strict=True) == {ALICE: changes[ALICE]}
        assert await admin.describe_quotas({"user": None}) == {DEFAULT: changes[DEFAULT]}
        assert await admin.describe_quotas({"user": ANY_NAME}, strict=True) == {
            ALICE: changes[ALICE],
            DEFAULT: changes[DEFAULT],
        }
        await admin.alter_quotas({ALICE: {"producer_byte_rate": None}})
        assert await admin.describe_quotas({"user": "alice"}, strict=True) == {ALICE: {"consumer_byte_rate": 2_000.0}}
        # The other tests of this cluster are not to be throttled.
        await admin.alter_quotas({entity: dict.fromkeys(quotas) for entity, quotas in changes.items()})
        assert await admin.describe_quotas() == {}

    over_cluster(cluster, test)


def test_an_invalid_quota_is_the_result_of_its_entity(cluster: Cluster) -> None:
    async def test(admin: AdminClient) -> None:
        bob = quota_entity({"user": "bob", "client-id": None})
        result = (await admin.alter_quotas({bob: {"no_such_quota": 1.0}}))[bob]
        assert (result.name, result.error) == ("client-id=<default>,user=bob", Error.INVALID_REQUEST)
        assert "no_such_quota" in (result.message or "")

    over_cluster(cluster, test)
