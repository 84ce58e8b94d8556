"""The dependencies that `wiring` passes have the methods of the broker's ports."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker import ports
from signalbox.broker.forwarding.forwarding import EnvelopeForwarder
from signalbox.controller.runtime import Controller


@pytest.mark.parametrize(
    ("port", "dependency"),
    [
        (ports.ActiveController, Controller),
        (ports.Forwarder, EnvelopeForwarder),
    ],
)
def test_nothing_is_missing_and_no_port_is_wide(port: Any, dependency: Any) -> None:
    wanted = {name for name in vars(port) if not name.startswith("_")}
    assert {name for name in wanted if not hasattr(dependency, name)} == set()
    assert len(wanted) <= 10
