"""Manual assignments, for new topics and for added partitions. More errors are in `test_topic_control.py`."""

from __future__ import annotations

import pytest

from signalbox.controller.topics.assignment import manual_assignment
from signalbox.protocol.error_table import Error, KafkaError
from tests.controller.contexts import make_context

CONTEXT = make_context(1, 2, 3)


def test_partitions_may_come_in_any_order() -> None:
    assert manual_assignment(CONTEXT, [(1, [2, 1]), (0, [1, 2])], 0) == {0: (1, 2), 1: (2, 1)}


def test_added_partitions_go_on_with_the_numbers_and_the_factor() -> None:
    assert manual_assignment(CONTEXT, [(4, [2, 1])], 4, replication_factor=2) == {4: (2, 1)}
    for given in ([(5, [2, 1])], [(4, [2])]):
        with pytest.raises(KafkaError) as rejected:
            manual_assignment(CONTEXT, given, 4, replication_factor=2)
        assert rejected.value.error is Error.INVALID_REPLICA_ASSIGNMENT
