"""The rule is read from two options, and all their faults are named."""

from __future__ import annotations

import pytest

from signalbox.pipeline.event_time.rule import EventTimeRule, event_time_faults, parse_watermark, rule_of

pytestmark = pytest.mark.spec("P8")


@pytest.mark.parametrize(
    ("text", "rule", "written"),
    [
        ("at=30s", EventTimeRule("at", 30_000_000), "watermark at=30s"),
        ("at=90m", EventTimeRule("at", 5_400_000_000), "watermark at=90m"),
        ("at=120m", EventTimeRule("at", 7_200_000_000), "watermark at=2h"),
        ("a=b=1d", EventTimeRule("a=b", 86_400_000_000), "watermark a=b=1d"),
        ("at=0h", EventTimeRule("at", 0), "watermark at=0s"),
    ],
)
def test_a_watermark_is_a_column_and_a_delay(text: str, rule: EventTimeRule, written: str) -> None:
    assert rule_of(text, ()) == rule
    assert rule.text == written
    assert parse_watermark(text) == (rule.column, rule.delay_us)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("at", "write COLUMN=DELAY"),
        ("=10m", "write COLUMN=DELAY"),
        ("at=", "the delay is 0s or more, in s, m, h or d"),
        ("at=-10m", "the delay is 0s or more, in s, m, h or d"),
        ("at=10", "the delay is 0s or more, in s, m, h or d"),
        ("at=1.5h", "the delay is 0s or more, in s, m, h or d"),
        ("at=36501d", "the delay is 100 years at most"),
    ],
)
def test_what_is_no_watermark_is_named(text: str, fault: str) -> None:
    assert [fault in named for named in event_time_faults(text, (), upsert=False)] == [True]


def test_combinations_that_have_no_meaning_are_faults() -> None:
    assert event_time_faults(None, (), upsert=True) == []
    (fault,) = event_time_faults(None, ("id",), upsert=False)
    assert "deduplicate needs a watermark" in fault
    (fault,) = event_time_faults("at=1m", ("id", ""), upsert=False)
    assert fault == "deduplicate is 'id, ': name each column once"
    assert [fault.split(":")[0] for fault in event_time_faults("at=1m", ("id",), upsert=True)] == [
        "upsert and deduplicate exclude each other",
        "upsert and watermark exclude each other",
    ]


def test_a_rule_fits_a_request_that_names_less() -> None:
    rule = EventTimeRule("at", 1, ("id",))
    assert rule.fits(rule)
    assert rule.fits(EventTimeRule("at", 1))
    assert not rule.fits(EventTimeRule("at", 2))
    assert not EventTimeRule("at", 1).fits(rule)


def test_a_rule_is_read_from_a_state() -> None:
    assert EventTimeRule.of_json(None) is None
    stored = {"column": "at", "delay_us": 5, "deduplicate": ["id"]}
    assert EventTimeRule.of_json(stored) == EventTimeRule("at", 5, ("id",))
