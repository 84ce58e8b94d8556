from __future__ import annotations

from typing import Any

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.cluster.coordinator_lookup import TRANSACTION, find_coordinator
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.find_coordinator import FindCoordinatorResponse
from tests.client.loopback_cluster import LoopbackCluster
from tests.client.test_admin import with_admin


@pytest.mark.parametrize("version", [1, 3, 4, 6])
def test_one_key_is_looked_up_at_every_version(version: int) -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        broker = cluster.brokers[1]
        broker.max_versions[ApiKey.FIND_COORDINATOR] = version

        def answer(request: Any, version: int) -> Any:
            if version < 4:
                return FindCoordinatorResponse(node_id=7)
            row = FindCoordinatorResponse.Coordinator(key=request.coordinator_keys[0], node_id=7)
            return FindCoordinatorResponse(coordinators=[row])

        broker.scripts[ApiKey.FIND_COORDINATOR] = answer
        assert await find_coordinator(admin.client, "k", TRANSACTION) == 7
        (request,) = broker.seen(ApiKey.FIND_COORDINATOR)
        assert (request.key or request.coordinator_keys[0], request.key_type) == ("k", TRANSACTION)

    with_admin(test)


@pytest.mark.parametrize("version", [3, 4])
def test_a_rejection_keeps_the_brokers_words(version: int) -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        broker = cluster.brokers[1]
        broker.max_versions[ApiKey.FIND_COORDINATOR] = version
        made = FindCoordinatorResponse

        def answer(request: Any, version: int) -> Any:
            error: dict[str, Any] = {
                "error_code": Error.POLICY_VIOLATION,
                "error_message": "the policy says no",
                "node_id": -1,
            }
            return made(**error) if version < 4 else made(coordinators=[made.Coordinator(key="k", **error)])

        broker.scripts[ApiKey.FIND_COORDINATOR] = answer
        with pytest.raises(KafkaError, match="the policy says no") as rejection:
            await find_coordinator(admin.client, "k")
        assert rejection.value.error == Error.POLICY_VIOLATION

    with_admin(test)
