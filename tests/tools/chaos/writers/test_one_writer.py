"""Only one session writes in each controller epoch: any other writer is named, with the epoch and its controller."""

from __future__ import annotations

from tools.chaos.writers.one_writer import Writers, Written, check_writers

EPOCH, TOPIC = "/controller_epoch", "/brokers/topics/t"
BEGIN = [
    Written(1, 11, "/config/topics"),
    Written(2, 12, "/kafka-acl/Topic"),
    Written(3, 11, "/brokers/ids/1"),
    Written(4, 12, "/brokers/ids/2"),
    Written(5, 11, EPOCH),
    Written(6, 11, "/controller"),
    Written(6, 11, EPOCH),
]


def test_one_writer_after_another() -> None:
    history = [
        *BEGIN,
        Written(7, 11, TOPIC),
        Written(7, 11, "/config/changes/config_change_0000000001"),
        Written(8, 12, "/config/changes/config_change_0000000001"),
        Written(8, 12, "/log_dir_event_notification/log_dir_event_1"),
        Written(9, 11, "/brokers/ids/2"),
        Written(9, 11, "/signalbox_salt_secret"),
        Written(10, 12, "/controller"),
        Written(10, 12, EPOCH),
        Written(11, 12, TOPIC),
    ]
    assert check_writers(history) == Writers((1, 2), 2, ())


def test_a_controller_that_writes_after_its_successor_is_an_intruder() -> None:
    found = check_writers([*BEGIN, Written(7, 12, EPOCH), Written(8, 11, TOPIC), Written(9, 12, TOPIC)])
    assert found.intruders == (
        "commit 8 to /brokers/topics/t by broker 1 (session b) in epoch 2, whose controller is broker 2 (session c)",
    )
    assert found.commits == 2


def test_the_same_broker_with_another_session_is_another_writer() -> None:
    again = check_writers([*BEGIN, Written(7, 99, "/brokers/ids/1"), Written(8, 99, "/config/users/alice")])
    assert len(again.intruders) == 1
    many = check_writers([*BEGIN, *(Written(number, 99, TOPIC) for number in range(7, 20))])
    assert many.intruders[-1] == "and 8 more"


def test_the_command_that_accepts_an_older_store_is_no_second_writer() -> None:
    """It raises leader epochs before the controller epoch, while no broker is running."""
    history = [
        *BEGIN,
        Written(7, 77, TOPIC),
        Written(8, 77, EPOCH),
        Written(9, 13, "/brokers/ids/2"),
        Written(10, 13, EPOCH),
        Written(11, 13, TOPIC),
    ]
    assert len(check_writers(history).intruders) == 1
    assert check_writers(history, store_went_back=True) == Writers((1, -1, 2), 1, ())
    stale = [*history, Written(12, 11, TOPIC)]
    assert len(check_writers(stale, store_went_back=True).intruders) == 1, "a broker's session is checked as before"
