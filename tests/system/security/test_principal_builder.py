"""F7: a custom principal with a field that Kafka's principal does not have, as the controller's authorizer sees it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.authorizer import AllowAllAuthorizer
from signalbox.security.principal import AuthenticationEvidence, KafkaPrincipal
from signalbox.security.request_context import RequestContext
from signalbox.testing.cluster import Cluster
from tests.system.wire import Wire


@dataclass(frozen=True, slots=True, eq=False)
class TeamPrincipal(KafkaPrincipal):
    team: str = ""


class TeamBuilder:
    """A builder and serde; its principals carry the listener on which they were authenticated."""

    def __init__(self, given: Mapping[str, str]) -> None: ...

    def build(self, evidence: AuthenticationEvidence) -> KafkaPrincipal:
        return TeamPrincipal("User", "member", team=f"team of {evidence.listener_name}")

    def serialize(self, principal: KafkaPrincipal) -> bytes:
        team = principal.team if isinstance(principal, TeamPrincipal) else ""
        return json.dumps([principal.type, principal.name, team]).encode()

    def deserialize(self, data: bytes) -> KafkaPrincipal:
        type_, name, team = json.loads(data)
        return TeamPrincipal(type_, name, team=team)


class Remembering(AllowAllAuthorizer):
    """Records for each topic the principal that requested its creation and the principal that forwarded the request."""

    seen: dict[str, tuple[KafkaPrincipal, KafkaPrincipal | None]] = {}

    def __init__(self, given: Mapping[str, str]) -> None: ...

    def authorize(
        self, context: RequestContext, operation: AclOperation, resource_type: ResourceType, resource_name: str
    ) -> bool:
        if resource_type is ResourceType.TOPIC and operation is AclOperation.CREATE:
            self.seen[resource_name] = context.principal, context.forwarding_principal
            return True
        return resource_type is not ResourceType.CLUSTER or operation is AclOperation.CLUSTER_ACTION


@pytest.mark.spec("F7")
def test_what_only_this_principal_has_survives_the_envelope() -> None:
    overrides = {
        "principal.builder.class": f"{__name__}.TeamBuilder",
        "authorizer.class.name": f"{__name__}.Remembering",
    }
    with Cluster(3, overrides=overrides) as cluster:
        for node_id, node in cluster.nodes.items():
            topic = CreateTopicsRequest.CreatableTopic(name=f"by-{node_id}", num_partitions=1, replication_factor=1)
            with Wire(str(node.describe()["listeners"]["CLIENT"])) as wire:
                answer = wire.ask(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
            assert [row.error_code for row in answer.topics] == [0]
    forwarded = 0
    for node_id in (1, 2, 3):
        principal, sender = Remembering.seen[f"by-{node_id}"]
        assert isinstance(principal, TeamPrincipal)
        assert principal.team == "team of CLIENT"
        forwarded += sender is not None
    assert forwarded == 2
