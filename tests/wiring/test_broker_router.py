"""A broker's router: the fast path in front of it, and the versions of the controller to which it forwards."""

from __future__ import annotations

import pytest

from signalbox.broker.routing.advertised_versions import ControllerVersions
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from signalbox.testing.cluster import Cluster


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
