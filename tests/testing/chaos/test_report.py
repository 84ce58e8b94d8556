"""A report is complete only when the run showed all that it must."""

from __future__ import annotations

import json
from dataclasses import replace

from signalbox.testing.chaos.faults import Inflicted
from signalbox.testing.chaos.replicas import Comparison
from signalbox.testing.chaos.report import Report
from signalbox.testing.chaos.verdict import Verdict

NOTHING_WRONG = Verdict(0, 0, 0, 0, 0, 0, ())
KILL = Inflicted("SIGKILL", 1, True, 2, 1.0, 0.5, False, silences_s=(0.31, 0.1))
PAUSE = Inflicted("SIGSTOP", 2, False, 2, 1.0, 7.0, False)


def full() -> Report:
    faults = [KILL, KILL, PAUSE, PAUSE, replace(PAUSE, hold_s=1.0)]
    return Report(4, 6.0, 50.0, faults, 25_000, verdict=NOTHING_WRONG, comparison=Comparison(1, 3, 100, (), {}))


def test_a_run_that_showed_everything() -> None:
    assert full().shortfalls() == []
    assert list(full().lines())[-1] == "chaos: nothing violated"


def test_each_thing_that_a_run_may_fail_to_show() -> None:
    assert replace(full(), seconds=51.0, acknowledged=30_000).shortfalls() == ["too little was shown: 5 faults in 51 s"]
    quiet = replace(full(), faults=[replace(KILL, was_controller=False)] * 3 + [replace(PAUSE, hold_s=5.9)] * 2)
    assert quiet.shortfalls() == [
        "too little was shown: 0 controller kills",
        "too little was shown: 0 stops longer than a session",
    ]
    assert replace(full(), acknowledged=24_999).shortfalls() == [
        "too little was shown: 24999 records acknowledged in 50 s"
    ]
    assert len(replace(full(), verdict=None, comparison=None).shortfalls()) == 2


def test_the_report_file_has_the_fields_that_others_read() -> None:
    found = json.loads(json.dumps(full().as_json()))
    asked = ("seed", "seconds", "faults", "acknowledged", "lost", "duplicated", "reordered")
    assert [found[key] for key in asked] == [4, 50.0, 5, 25_000, 0, 0, 0]
    assert found["each_fault"][0]["longest_silence_s"] == 0.31


def test_a_violation_is_told_last_but_one() -> None:
    assert list(replace(full(), violations=["lost: one"]).lines())[-2:] == [
        "VIOLATION lost: one",
        "chaos: 1 violations",
    ]
