"""Swapped addresses: rejected with 129, the client rebootstraps, no record is lost (R1, R5)."""

from __future__ import annotations

import pytest

from signalbox.cli.demo import misroute
from signalbox.cli.demo.stage import Stage


@pytest.mark.spec("R5", "R7")
def test_a_swap_under_a_producing_client(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(misroute, "_RECORDS", 600)
    monkeypatch.setattr(misroute, "_SWAP_AT", 200)
    monkeypatch.setattr(misroute, "_HEAL_AFTER_S", 0.3)
    misroute.swap_addresses(stage)
    seen = stage.facts["misroute"]
    assert seen["rejected"] > 0
    assert (seen["rebootstraps"] > 0, seen["records"]) == (True, 600)
