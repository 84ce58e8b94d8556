"""Internal listeners: inter-broker, control plane and privileged."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.authorization.internal_listener import on_internal_listener
from tests.broker.handler_requests import context


@pytest.mark.parametrize(
    ("flags", "theirs"),
    [
        ({}, False),
        ({"inter_broker": True}, True),
        ({"control_plane": True}, True),
        ({"privileged": True}, True),
    ],
)
def test_which_listeners_are_internal(flags: dict[str, Any], theirs: bool) -> None:
    assert on_internal_listener(context(**flags)) is theirs
