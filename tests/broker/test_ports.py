"""The dependencies that `wiring` passes have the methods of the broker's ports."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker import ports
from signalbox.broker.forwarding.forwarding import EnvelopeForwarder
from signalbox.broker.metrics.request_observer import AuditingObserver
from signalbox.broker.topics.topic_creation import TopicCreator
from signalbox.client.inter_broker.controller_channel import ControllerChannel
from signalbox.controller.runtime import Controller
from signalbox.network.inbound_request import InboundRequest
from signalbox.server.topic_configs import ConfigValuesView


@pytest.mark.parametrize(
    ("port", "dependency"),
    [
        (ports.InboundRequest, InboundRequest),
        (ports.ActiveController, Controller),
        (ports.Forwarder, EnvelopeForwarder),
        (ports.RequestObserver, AuditingObserver),
        (ports.ControllerRequests, ControllerChannel),
        (ports.EnvelopeChannel, ControllerChannel),
        (ports.ConfigValues, ConfigValuesView),
        (ports.TopicCreation, TopicCreator),
    ],
)
def test_nothing_is_missing_and_no_port_is_wide(port: Any, dependency: Any) -> None:
    wanted = {name for name in vars(port) if not name.startswith("_")}
    assert {name for name in wanted if not hasattr(dependency, name)} == set()
    assert len(wanted) <= 10
