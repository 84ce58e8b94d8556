"""Control requests are sent to the listener in the target's registration; a broker without it is skipped (SPEC C2)."""

from __future__ import annotations

import logging

import pytest

from signalbox.controller.context import LiveBroker
from signalbox.controller.control_requests.control_targets import ControlTargets
from signalbox.metadata.cache import MetadataCache
from tests.controller.cluster import RecordingChannels, registration
from tests.controller.contexts import live


@pytest.mark.spec("C2")
def test_a_broker_without_the_listener_is_reported_once_and_skipped(caplog: pytest.LogCaptureFixture) -> None:
    channels = RecordingChannels(MetadataCache(), 0)
    targets = ControlTargets(channels, "REPLICATION")
    brokers = {**live(1), 2: LiveBroker(registration(2, control_plane_listener="NONE"), 200)}
    with caplog.at_level(logging.ERROR):
        targets.follow(brokers)
        targets.follow(brokers)
    assert (targets.reaches(1), targets.reaches(2)) == (True, False)
    assert caplog.text.count("Broker 2 has no listener NONE") == 1
    targets.follow(live(1, 2))
    assert targets.reaches(2)


def test_channels_follow_brokers() -> None:
    channels = RecordingChannels(MetadataCache(), 0)
    targets = ControlTargets(channels, "REPLICATION")
    targets.follow(live(1, 2))
    targets.follow({**live(2), 2: LiveBroker(registration(2), 999)})
    targets.follow({2: LiveBroker(registration(2, control_plane_listener=None), 999)})
    targets.close()
    assert channels.log == ["+1", "+2", "-1", "-2", "+2", "-2", "+2", "-2"]
    assert channels.endpoints == {}
