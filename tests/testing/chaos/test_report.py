"""A report is complete only when the run showed all that it must."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from signalbox.testing.chaos.changes.verdict import ChangeVerdict
from signalbox.testing.chaos.faults import Inflicted
from signalbox.testing.chaos.replicas import Comparison
from signalbox.testing.chaos.report import Report
from signalbox.testing.chaos.verdict import Verdict
from signalbox.testing.chaos.writers.one_writer import Writers

NOTHING_WRONG = Verdict(0, 0, 0, 0, 0, 0, ())
KILL = Inflicted("SIGKILL", 1, True, 2, 1.0, 0.5, False, silences_s=(0.31, 0.1))
PAUSE = Inflicted("SIGSTOP", 2, False, 2, 1.0, 7.0, False)
CUT = Inflicted("stalled", 2, False, 2, 1.0, 7.0, False)
OUTAGE = Inflicted("store outage", 0, False, 0, 1.0, 7.0, False)
CHANGES = ChangeVerdict("topic", 4, 30, 2, 1, 0, 0, 0, ())
WRITERS = Writers((1, 2), 30, ())


def full() -> Report:
    return Report(
        4,
        6.0,
        60.0,
        [KILL, KILL, PAUSE, PAUSE, CUT, OUTAGE],
        30_000,
        verdict=NOTHING_WRONG,
        comparison=Comparison(1, 3, 100, (), {}),
        changes=[CHANGES],
        writers=WRITERS,
    )


def test_a_run_that_showed_everything() -> None:
    assert full().shortfalls() == []
    assert list(full().lines())[-1] == "chaos: nothing violated"


def test_each_thing_that_a_run_may_fail_to_show() -> None:
    def missing(**fields: Any) -> list[str]:
        return [text.removeprefix("too little was shown: ") for text in replace(full(), **fields).shortfalls()]

    assert missing(seconds=91.0, acknowledged=60_000) == ["6 faults in 91 s"]
    assert missing(faults=[replace(KILL, was_controller=False)] * 2 + [replace(PAUSE, hold_s=5.9)] * 2 + [CUT] * 2) == [
        "0 controller kills",
        "0 stops longer than a session",
        "no fault of the store",
    ]
    assert missing(faults=[KILL, KILL, PAUSE, PAUSE, OUTAGE, OUTAGE]) == ["no cut of the network"]
    assert missing(acknowledged=29_999) == ["29999 records acknowledged in 60 s"]
    assert missing(changes=[replace(CHANGES, acknowledged=11)]) == ["11 changes of topics"]
    assert missing(changes=[], writers=None) == ["no metadata change was judged", "no writer was seen"]
    assert len(missing(verdict=None, comparison=None)) == 2


def test_the_report_file_has_the_fields_that_others_read() -> None:
    found = json.loads(json.dumps(full().as_json()))
    asked = ("seed", "seconds", "faults", "acknowledged", "lost", "duplicated", "reordered")
    assert [found[key] for key in asked] == [4, 60.0, 6, 30_000, 0, 0, 0]
    assert found["changes"]["topic"]["acknowledged"] == 30
    assert (found["controllers_of_epochs"], found["controller_commits"], found["two_writers"]) == ([1, 2], 30, 0)
    assert found["each_fault"][0]["longest_silence_s"] == 0.31


def test_a_violation_is_told_last_but_one() -> None:
    assert list(replace(full(), violations=["lost: one"]).lines())[-2:] == [
        "VIOLATION lost: one",
        "chaos: 1 violations",
    ]
