"""The fakes of other packages have the methods of the ports."""

from __future__ import annotations

import inspect

from signalbox.controller.ports import BrokerChannels
from tests.controller.cluster import RecordingChannels


def test_the_recording_channels_fit_the_port() -> None:
    for name, method in inspect.getmembers(BrokerChannels, inspect.isfunction):
        if not name.startswith("_"):
            wanted = list(inspect.signature(method).parameters)
            assert list(inspect.signature(getattr(RecordingChannels, name)).parameters) == wanted
