"""The fast path uses the same handlers, and its counts are flushed before counters are read."""

from __future__ import annotations

from signalbox.protocol.api_table import ApiKey
from signalbox.testing.cluster import Cluster


def test_the_fast_path_has_three_apis_and_both_counters(cluster: Cluster) -> None:
    telemetry = cluster.nodes[1].components.telemetry
    fast_path = telemetry.requests.before_reading.__self__  # type: ignore[attr-defined]
    assert telemetry.rollups.before_flush.__self__ is fast_path  # type: ignore[attr-defined]
    assert set(fast_path._factories) == {ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.API_VERSIONS}
