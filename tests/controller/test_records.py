"""Records are values: equal if their fields are equal, and immutable."""

from __future__ import annotations

import dataclasses
from typing import get_args

import pytest

from signalbox.controller.records import BrokerLeft, Record


def test_every_record_is_a_frozen_value_with_a_meaning() -> None:
    for record in get_args(Record):
        assert dataclasses.is_dataclass(record)
        assert record.__hash__ is not None
        assert record.__doc__
    assert BrokerLeft(1) == BrokerLeft(1) != BrokerLeft(2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        BrokerLeft(1).broker_id = 2  # type: ignore[misc]
