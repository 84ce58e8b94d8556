"""When addresses are probed: by a clock and random numbers that the test sets."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

import pytest

from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.server.advertised.address_probes import AdvertisedAddress
from signalbox.server.advertised.probe_schedule import FIRST_RETRY_S, ProbeSchedule

pytestmark = pytest.mark.spec("R9")

INTERVAL_S = 300.0


def address(node_id: int, port: int = 9092) -> AdvertisedAddress:
    return AdvertisedAddress(node_id, Endpoint("CLIENT", f"h{node_id}", port, SecurityProtocol.PLAINTEXT))


class Bench:
    """`numbers` are the random ones."""

    def __init__(self, *numbers: float) -> None:
        self.now_s = 1000.0
        self._numbers: Iterator[float] = cycle(numbers or (0.5,))
        self.schedule = ProbeSchedule(lambda: self.now_s, lambda: next(self._numbers))

    def pauses(self, count: int, *, verified: bool) -> list[float]:
        """The time between probes of the only address, which all end in the same way."""
        pauses = []
        for _ in range(count):
            (due,) = self.schedule.due(INTERVAL_S)
            self.schedule.probed(due, verified=verified)
            pauses.append(self.schedule.seconds_to_next(INTERVAL_S))
            self.now_s += pauses[-1]
        return pauses


def test_an_address_that_fails_is_probed_soon_and_then_more_and_more_rarely() -> None:
    bench = Bench()
    bench.schedule.follow([address(1)])
    assert bench.pauses(9, verified=False) == [5, 10, 20, 40, 80, 160, 300, 300, 300]
    assert bench.pauses(2, verified=True) == [300, 300]
    assert bench.pauses(2, verified=False) == [5, 10], "a new fault has short pauses again"


def test_the_pauses_of_brokers_that_began_together_differ() -> None:
    pauses = []
    for number in (0.0, 1.0):
        bench = Bench(number)
        bench.schedule.follow([address(1)])
        pauses += bench.pauses(1, verified=False)
    assert pauses == [pytest.approx(FIRST_RETRY_S * 0.95), pytest.approx(FIRST_RETRY_S * 1.05)]


def test_peers_are_probed_one_after_the_other_and_own_addresses_at_once() -> None:
    bench = Bench(0.5, 0.1, 0.9)
    bench.schedule.follow([address(1)])
    assert bench.schedule.due(INTERVAL_S) == [address(1)]
    bench = Bench(0.5, 0.1, 0.9)
    bench.schedule.follow([address(1), address(2), address(3)], brokers=100)
    assert bench.schedule.due(INTERVAL_S) == []
    assert bench.schedule.seconds_to_next(INTERVAL_S) == pytest.approx(1.0)  # a tenth of the longest wait
    bench.now_s += 10
    assert bench.schedule.due(INTERVAL_S) == [address(2), address(1), address(3)]


def test_a_changed_address_is_due_and_the_others_stay_as_they_are() -> None:
    bench = Bench()
    bench.schedule.follow([address(1), address(2)])
    for due in bench.schedule.due(INTERVAL_S):
        bench.schedule.probed(due, verified=True)
    bench.schedule.follow([address(1), address(2, port=9999)])
    assert bench.schedule.due(INTERVAL_S) == [address(2, port=9999)]
    bench.schedule.probed(address(2), verified=False)  # the probe of the address that it had before ends now
    assert bench.schedule.due(INTERVAL_S) == [address(2, port=9999)]


def test_an_interval_that_is_shortened_holds_for_addresses_that_wait() -> None:
    bench = Bench()
    bench.schedule.follow([address(1)])
    bench.pauses(8, verified=False)
    bench.schedule.probed(address(1), verified=True)
    assert bench.schedule.seconds_to_next(0.2) == pytest.approx(0.2)
    bench.schedule.follow([])
    assert bench.schedule.seconds_to_next(0.2) == float("inf")
