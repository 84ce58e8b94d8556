import pytest

from signalbox.common.config.topic_config import TOPIC_CONFIG
from signalbox.storage.config_rows import STORAGE_CONFIG, topic_defaults
from signalbox.storage.log_config import LogConfig


def defaults(**given: str) -> dict[str, object]:
    values, faults = STORAGE_CONFIG.read({key.replace("_", "."): value for key, value in given.items()})
    assert faults == []
    return dict(topic_defaults(values))


def test_unset_keys_give_the_topic_defaults() -> None:
    assert LogConfig.from_topic_config({}, defaults()) == LogConfig()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 604_800_000),
        ({"log_retention_hours": "2"}, 7_200_000),
        ({"log_retention_hours": "2", "log_retention_minutes": "3"}, 180_000),
        ({"log_retention_hours": "2", "log_retention_minutes": "3", "log_retention_ms": "4"}, 4),
        ({"log_retention_hours": "-1"}, -1),
    ],
)
def test_the_finest_retention_key_counts(given: dict[str, str], expected: int) -> None:
    assert defaults(**given)["log.retention.ms"] == expected


def test_rolling_and_flushing_have_stand_ins_too() -> None:
    found = defaults(log_roll_hours="1", log_roll_jitter_hours="2", log_flush_scheduler_interval_ms="500")
    assert (found["log.roll.ms"], found["log.roll.jitter.ms"]) == (3_600_000, 7_200_000)
    assert found["log.flush.interval.ms"] == 500


def test_every_topic_config_with_a_broker_default_has_a_row_here_or_elsewhere() -> None:
    missing = {row.synonym for row in TOPIC_CONFIG if row.synonym and row.synonym not in STORAGE_CONFIG}
    assert missing == {"unclean.leader.election.enable"}


def test_a_wrong_value_is_a_fault() -> None:
    _, faults = STORAGE_CONFIG.read({"log.segment.bytes": "3"})
    assert [fault.key for fault in faults] == ["log.segment.bytes"]


@pytest.mark.parametrize(("text", "accepted"), [("0", False), ("1048576", False), ("1048577", True)])
def test_the_cleaner_has_more_than_1_mib_for_keys_as_in_kafka(text: str, accepted: bool) -> None:
    _, faults = STORAGE_CONFIG.read({"log.cleaner.dedupe.buffer.size": text})
    assert (faults == []) is accepted
