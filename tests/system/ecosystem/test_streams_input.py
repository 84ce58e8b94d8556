"""The batch computation finds what is lost, repeated or in another order."""

from __future__ import annotations

from random import Random

import pytest

from tests.system.ecosystem.committed_records import Row
from tests.system.ecosystem.streams_input import OUTPUTS, StreamsInput


def right_output(source: StreamsInput) -> dict[str, list[Row]]:
    """What an application writes that makes each update once."""
    return {
        "counts": [(word, n.to_bytes(8)) for word, count in source.words.items() for n in range(1, count + 1)],
        "visits": list(source.visits.elements()),
        "paid": list(source.paid.elements()),
        "sums": [
            (key, b"%d:%d" % (total if n == count else 0, n))
            for key, (total, count) in source.sums.items()
            for n in range(1, count + 1)
        ],
    }


@pytest.fixture
def source() -> StreamsInput:
    drawn = StreamsInput(1_000_000_000_000, Random(7))
    for _ in range(2):
        drawn.piece()
    return drawn


def test_the_right_output(source: StreamsInput) -> None:
    output = right_output(source)
    assert source.differences(output) == []
    assert sum(map(len, output.values())) == source.output_count()


@pytest.mark.parametrize("topic", OUTPUTS)
def test_a_record_too_few_and_one_too_many(source: StreamsInput, topic: str) -> None:
    output = right_output(source)
    rows = output[topic]
    assert source.differences({**output, topic: rows[:-1]}) == [topic]
    assert source.differences({**output, topic: [*rows, rows[-1]]}) == [topic]


def test_counts_in_another_order(source: StreamsInput) -> None:
    output = right_output(source)
    assert source.differences({**output, "counts": output["counts"][::-1]}) == ["counts"]
