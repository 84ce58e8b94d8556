"""A broker's router: the fast path in front of it, and the versions of the controller to which it forwards."""

from __future__ import annotations

from functools import partial

import pytest

from signalbox.broker.routing.advertised_versions import ControllerVersions
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.quota_entity import CONTROLLER_MUTATION_RATE
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from signalbox.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.cluster import Cluster
from tests.broker.handler_requests import context, handled, request_of
from tests.waiting import until


def test_the_fast_path_has_three_apis_and_both_counters(cluster: Cluster) -> None:
    telemetry = cluster.nodes[1].components.telemetry
    fast_path = telemetry.requests.before_reading.__self__  # type: ignore[attr-defined]
    assert telemetry.rollups.before_flush.__self__ is fast_path  # type: ignore[attr-defined]
    assert set(fast_path._factories) == {ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.API_VERSIONS}


@pytest.mark.spec("F9")
def test_the_controllers_versions_are_known_before_the_first_request(cluster: Cluster) -> None:
    channel = cluster.nodes[1].components.controller_channels.channel

    # The first response shows that the connection is established.
    cluster.run(channel.request(AllocateProducerIdsRequest(broker_id=1), 5_000))
    versions = ControllerVersions(channel)
    ranges = versions.controller_ranges()
    assert ranges is not None
    assert (ranges[19], ranges[58]) == ((2, 7), (0, 0))
    assert versions.controller_ranges() is ranges


@pytest.mark.spec("F14")
def test_topics_that_metadata_creates_are_charged_to_the_client_on_every_broker(cluster: Cluster) -> None:
    """One partition a topic: the second of a user is above the quota, whichever broker receives the request."""
    [active] = (node.components for node in cluster.nodes.values() if node.components.controller.is_active)
    made, stored = AlterClientQuotasRequest, active.context.repository
    for node_id, node in cluster.nodes.items():
        user = f"creator-{node_id}"
        entity = [made.EntityData(entity_type="user", entity_name=user)]
        quota = made(
            entries=[made.EntryData(entity=entity, ops=[made.OpData(key=CONTROLLER_MUTATION_RATE, value=0.01)])]
        )
        cluster.run(active.controller.handle(ApiKey.ALTER_CLIENT_QUOTAS, quota, context()))
        until(partial(_has_quota, stored, user), "the quota on the controller")
        names = [f"{user}-{number}" for number in range(2)]
        topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
        route = node.components.router.route(ApiKey.METADATA)
        assert route is not None
        response = cluster.run(handled(route.handler, request_of(MetadataRequest(topics=topics), 12, context(user))))
        first, second = [topic.error_code for topic in response.topics]
        assert first in (Error.NONE, Error.LEADER_NOT_AVAILABLE), "the second before this broker has its metadata"
        assert second == Error.UNKNOWN_TOPIC_OR_PARTITION
    created = {name for name in active.cache.image.topics if name.startswith("creator-")}
    assert created == {f"creator-{node_id}-0" for node_id in cluster.nodes}


def _has_quota(stored: ConfigRepository, user: str) -> bool:
    return f"users/{user}" in stored.entities()
