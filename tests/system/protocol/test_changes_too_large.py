"""Changes that are larger than the metadata store can hold, from an ordinary user and from an administrator, on both
stores: only that change is rejected, and the controller stays elected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from signalbox.protocol.messages.create_acls import CreateAclsRequest
from signalbox.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from signalbox.security.acl import AclOperation, ResourceType
from signalbox.testing.zookeeper import ensemble
from tests.system import provision
from tests.system.clusters import BROKERS
from tests.system.guarded import ADMIN_PASSWORD, Guarded, make_topic, set_user
from tests.system.wire import Wire, dial, log_in_by_scram

pytestmark = [pytest.mark.timeout(240), pytest.mark.spec("F2")]

PASSWORD = "erin-s3cret"
LONGEST = 2**15 - 1  # bytes of a string in a request
TOPIC = 2


@pytest.fixture(scope="module", params=["sqlite", "zookeeper"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder, over = tmp_path_factory.mktemp("large"), {"delegation.token.secret.key": "a secret of this test"}
    if request.param == "sqlite":
        with Guarded(folder, over) as running:
            set_user(running, "erin", PASSWORD)
            yield running
        return
    provision.zookeeper()
    with (
        ensemble(tmp_path_factory.mktemp("zookeeper")) as (server,),
        Guarded(folder, {**over, "signalbox.metadata.store": f"zookeeper:{server.address}/large"}) as running,
    ):
        set_user(running, "erin", PASSWORD)
        yield running


def connected(cluster: Guarded, user: str, password: str) -> Wire:
    wire = dial(cluster, cluster.follower)
    assert log_in_by_scram(wire, "SCRAM-SHA-256", user, password).error_code == 0
    return wire


def terms(cluster: Guarded) -> int:
    """How many times any node was elected as the controller."""
    return sum(cluster.brokers[node_id].log_file.read_text().count("elected as the controller") for node_id in BROKERS)


def renewers(count: int, name: str) -> list[Any]:
    renewer = CreateDelegationTokenRequest.CreatableRenewers
    return [renewer(principal_type="User", principal_name=f"{name}{number}") for number in range(count)]


def token(wire: Wire, **fields: Any) -> Error:
    wanted = CreateDelegationTokenRequest(max_lifetime_ms=-1, **fields)
    return Error.of(wire.ask(ApiKey.CREATE_DELEGATION_TOKEN, 3, wanted).error_code)


def quota(wire: Wire, user: str) -> Error:
    made = AlterClientQuotasRequest
    entity = [made.EntityData(entity_type="user", entity_name=user)]
    entry = made.EntryData(entity=entity, ops=[made.OpData(key="producer_byte_rate", value=1e6, remove=False)])
    [answer] = wire.ask(ApiKey.ALTER_CLIENT_QUOTAS, 1, made(entries=[entry], validate_only=False)).entries
    return Error.of(answer.error_code)


def config(wire: Wire, topic: str, value: str) -> Error:
    made = IncrementalAlterConfigsRequest
    change = made.AlterableConfig(name="leader.replication.throttled.replicas", config_operation=0, value=value)
    resource = made.AlterConfigsResource(resource_type=TOPIC, resource_name=topic, configs=[change])
    [answer] = wire.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, made(resources=[resource])).responses
    return Error.of(answer.error_code)


def acl(wire: Wire, group: str) -> Error:
    entry = CreateAclsRequest.AclCreation(
        resource_type=ResourceType.GROUP, resource_name=group, principal="User:erin", host="*",
        operation=AclOperation.READ, permission_type=3,
    )  # fmt: skip
    [answer] = wire.ask(ApiKey.CREATE_ACLS, 3, CreateAclsRequest(creations=[entry])).results
    return Error.of(answer.error_code)


def test_a_token_for_very_many_is_rejected_and_the_controller_stays(cluster: Guarded) -> None:
    before = terms(cluster)
    with connected(cluster, "erin", PASSWORD) as erin:
        assert token(erin, renewers=renewers(100_000, "renewer-")) is Error.INVALID_REQUEST
        assert token(erin, renewers=renewers(40, "x" * (LONGEST - 2))) is Error.INVALID_REQUEST
        assert token(erin, renewers=renewers(1_000, "renewer-")) is Error.NONE
    assert terms(cluster) == before


def test_the_longest_names_there_are_and_the_controller_stays(cluster: Guarded) -> None:
    topic = make_topic(cluster, "small")
    before = terms(cluster)
    with connected(cluster, "admin", ADMIN_PASSWORD) as admin:
        assert token(admin, owner_principal_type="User", owner_principal_name="y" * LONGEST) is Error.NONE
        assert quota(admin, "z" * LONGEST) is Error.NONE
        assert quota(admin, "ü" * (LONGEST // 2)) is Error.NONE
        assert acl(admin, "ü" * (LONGEST // 2)) is Error.NONE
        assert config(admin, topic, "1:2," * (LONGEST // 4 - 1) + "1:2") is Error.NONE
    assert terms(cluster) == before
