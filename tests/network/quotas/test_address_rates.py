from __future__ import annotations

import pytest

from signalbox.common.clock import ManualClock
from signalbox.network.quotas import address_rates
from signalbox.network.quotas.address_rates import AddressRates


def test_an_address_its_own_rate_the_default_and_none() -> None:
    clock = ManualClock()
    rates = AddressRates(clock)
    assert [rates.hold_seconds("a") for _ in range(50)] == [0.0] * 50
    rates.set(None, 2)
    rates.set("a", 4)
    for address, per_second in (("a", 4), ("b", 2), ("c", 2)):
        assert [rates.hold_seconds(address) for _ in range(per_second)] == [0.0] * per_second
        assert 0 < rates.hold_seconds(address) <= 1 / per_second
    clock.advance(500)
    assert [rates.hold_seconds("a") for _ in range(3)] == [0.0, 0.0, 0.5 / 2]
    rates.set("a", None)
    assert [rates.hold_seconds("a") > 0 for _ in range(3)] == [False, False, True], "the default is left"
    rates.set(None, None)
    assert rates.hold_seconds("b") == 0


def test_a_delayed_connection_is_not_counted() -> None:
    clock = ManualClock()
    rates = AddressRates(clock)
    rates.set("a", 1)
    assert rates.hold_seconds("a") == 0
    assert [rates.hold_seconds("a") > 0 for _ in range(100)] == [True] * 100
    clock.advance(1_000)
    assert rates.hold_seconds("a") == 0


def test_rate_zero_rejects_every_connection() -> None:
    rates = AddressRates(ManualClock())
    rates.set("a", 0)
    assert rates.hold_seconds("a") == 1.0


def test_idle_addresses_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_rates, "MAX_QUOTA_BUCKETS", 3)
    clock = ManualClock()
    rates = AddressRates(clock)
    rates.set(None, 1)
    for address in "abc":
        rates.hold_seconds(address)
    clock.advance(900)
    rates.hold_seconds("c")
    rates.hold_seconds("d")
    assert rates.hold_seconds("a") > 0, "none was quiet long enough"
    clock.advance(2_000)
    rates.hold_seconds("e")
    assert rates.remembered == 1
