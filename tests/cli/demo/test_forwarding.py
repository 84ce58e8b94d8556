"""The demo's topic is created in an Envelope, and the counter shows it."""

from __future__ import annotations

from signalbox.cli.demo.forwarding import create_through_another_broker
from signalbox.cli.demo.stage import Stage


def test_one_envelope(stage: Stage) -> None:
    create_through_another_broker(stage)
    seen = stage.facts["forwarding"]
    assert seen["broker"] != seen["controller"]
    assert stage.checks[-1].seen == "1 forwarded"
