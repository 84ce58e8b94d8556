"""The metadata cache behind replication's port."""

from __future__ import annotations

from signalbox.common.ids import TopicPartition
from signalbox.wiring.cluster_view import CachedClusterView
from tests.broker.handler_requests import cache_of, topic_id, update


def test_answers_follow_the_image() -> None:
    cache = cache_of(topics={"t": {0: (2, [2])}})
    view = CachedClusterView(cache)
    assert (view.is_alive(1), view.is_alive(9)) == (True, False)
    assert (view.topic_name(topic_id("t")), view.topic_name(b"\7" * 16)) == ("t", None)
    assert (view.topic_id("t"), view.topic_id("nope")) == (topic_id("t"), bytes(16))
    assert view.leader_of(TopicPartition("t", 0)) == (2, 5)
    assert view.leader_of(TopicPartition("t", 7)) is None
    assert view.broker_epoch(1) == -1
    cache.apply_update_metadata(update({9: ["CLIENT"]}))
    assert (view.is_alive(1), view.is_alive(9)) == (False, True)
