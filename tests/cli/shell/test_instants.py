"""Times on the command line."""

from __future__ import annotations

import pytest

from signalbox.cli.shell.instants import instant_ms, instant_text


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00:02", 2_000),
        ("1970-01-01T01:00:02.5+01:00", 2_500),
        ("1970-01-02", 86_400_000),
        ("12345", 12_345),
        ("15m", 9_100_000),
        ("2h", 2_800_000),
        ("10s", 9_990_000),
    ],
)
def test_a_time_is_ms_since_the_epoch(text: str, ms: int) -> None:
    assert instant_ms(text, now_ms=10_000_000) == ms


@pytest.mark.parametrize("text", ["", "yesterday", "15x", "-5", "2026-13-01"])
def test_another_text_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time: expected"):
        instant_ms(text)


@pytest.mark.parametrize("text", ["1969-12-31T23:59:59.999", "0001-01-01", "9223372036854775808", "99999999999999d"])
def test_a_time_that_no_record_has_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is no time of a record: these begin in 1970"):
        instant_ms(text)


def test_a_time_as_text() -> None:
    assert instant_text(1_500) == "1970-01-01T00:00:01Z"
    assert instant_text(1_500, "milliseconds") == "1970-01-01T00:00:01.500Z"
    assert instant_text(2**62) == f"{2**62} ms"
