"""Forwarding ids of requests."""

from __future__ import annotations

from signalbox.broker.epoch_checks import LocalEpochs
from signalbox.broker.forwarding.forwarding_ids import ForwardingIds
from signalbox.common.forwarding_id import ForwardingId


def test_every_request_has_its_own_id_and_the_lowest_open_one() -> None:
    life = LocalEpochs(3)
    life.registered(10)
    numbers = ForwardingIds(life)
    first, second = numbers.begin(), numbers.begin()
    assert (first, second) == (ForwardingId(3, 10, 1, 1), ForwardingId(3, 10, 2, 1))
    numbers.end(second)
    assert numbers.begin() == ForwardingId(3, 10, 3, 1), "the first is still open"
    numbers.end(first)
    life.registered(11)
    assert numbers.begin() == ForwardingId(3, 11, 4, 3), "a new registration does not reset the numbers"
