"""A report is complete only if the run showed everything that it must show."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tools.chaos.bank.bank_check import ANOMALIES, BankCheck
from tools.chaos.changes.change_check import ChangeCheck
from tools.chaos.destroyed_topics import DestroyedCheck
from tools.chaos.faults.injector import InjectedFault
from tools.chaos.record_check import RecordCheck
from tools.chaos.replicas import Comparison
from tools.chaos.report import Report
from tools.chaos.writers.one_writer import Writers

NOTHING_WRONG = RecordCheck(0, 0, 0, 0, 0, 0, ())
KILL = InjectedFault("SIGKILL", 1, True, 2, 1.0, 0.5, False, silences_s=(0.31, 0.1))
PAUSE = InjectedFault("SIGSTOP", 2, False, 2, 1.0, 7.0, False)
CUT = InjectedFault("stalled", 2, False, 2, 1.0, 7.0, False)
OUTAGE = InjectedFault("store outage", 0, False, 0, 1.0, 7.0, False)
CHANGES = ChangeCheck("topic", 4, 30, 2, 1, 0, 0, 0, 2, ())
WRITERS = Writers((1, 2), 30, ())


def full() -> Report:
    return Report(
        4,
        6.0,
        seconds=60.0,
        faults=[KILL, KILL, PAUSE, PAUSE, CUT, OUTAGE],
        acknowledged=30_000,
        records=NOTHING_WRONG,
        destroyed=DestroyedCheck(0, (), ()),
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

    assert missing(seconds=61.0, acknowledged=60_000) == ["6 faults in 61 s"]
    assert missing(every_kind=frozenset({"wiped"})) == [], "a minute has no time for all"
    long = {"seconds": 300.0, "acknowledged": 150_000, "faults": full().faults * 5}
    assert missing(**long, every_kind=frozenset({"wiped", "SIGKILL", "cut"}), changes=[]) == [
        "no cut, no wiped",
        "no metadata change was checked",
    ]
    assert missing(faults=[replace(KILL, was_controller=False)] * 2 + [replace(PAUSE, hold_s=5.9)] * 2 + [CUT] * 2) == [
        "0 controller kills",
        "0 stops longer than a session",
        "no fault of the store",
    ]
    assert missing(faults=[KILL, KILL, PAUSE, PAUSE, OUTAGE, OUTAGE]) == ["no cut of the network"]
    assert missing(acknowledged=29_999) == ["29999 records acknowledged in 60 s"]
    assert missing(changes=[replace(CHANGES, acknowledged=11)]) == ["11 changes of topics"]
    assert missing(changes=[], writers=None) == ["no metadata change was checked", "no writer was seen"]
    destroyed = [*full().faults, replace(OUTAGE, kind="all copies destroyed")]
    assert missing(faults=destroyed, destroyed=DestroyedCheck(3, (NOTHING_WRONG,), ())) == []
    assert missing(faults=destroyed) == ["no record whose copies were all destroyed is lost and said"]
    assert len(missing(records=None, comparison=None)) == 2


def test_the_report_file_has_the_fields_that_others_read() -> None:
    found = json.loads(json.dumps(full().as_json()))
    asked = ("seed", "seconds", "faults", "acknowledged", "lost", "duplicated", "reordered")
    assert [found[key] for key in asked] == [4, 60.0, 6, 30_000, 0, 0, 0]
    assert (found["changes"]["topic"]["acknowledged"], found["changes"]["topic"]["set_back"]) == (30, 2)
    assert (found["controllers_of_epochs"], found["controller_commits"], found["two_writers"]) == ([1, 2], 30, 0)
    assert found["each_fault"][0]["longest_silence_s"] == 0.31


def bank(committed: int, aborted: int, **found: tuple[str, ...]) -> BankCheck:
    return BankCheck(committed, aborted, {**dict.fromkeys(ANOMALIES, ()), **found})


def test_a_bank_must_have_committed_and_aborted_enough() -> None:
    def missing(**fields: Any) -> list[str]:
        return replace(full(), with_bank=True, **fields).shortfalls()

    assert missing(bank=bank(120, 1)) == []
    assert missing(bank=bank(119, 0)) == [
        "too little was shown: 119 committed transactions",
        "too little was shown: no aborted transaction",
    ]
    assert missing() == ["too little was shown: the bank was not read to its end"]


def test_the_anomalies_of_a_bank_are_in_the_report() -> None:
    report = replace(full(), with_bank=True, transaction_version=2, bank=bank(120, 9, G0=("0/0 -> 1/0 -> 0/0",)))
    found = report.as_json()["bank"]
    assert (found["committed"], found["aborted"]) == (120, 9)
    assert {name: count for name, count in found["anomalies"].items() if count} == {"G0": 1}
    assert found["transaction_version"] == 2
    counts = "bank: transaction.version 2, 120 transactions committed, 9 aborted; partial 0"
    assert any(line.startswith(counts) for line in report.lines())
    assert full().as_json()["bank"] is None


def test_both_kinds_of_loss_are_counted() -> None:
    assert [full().as_json()[key] for key in ("lost", "lost_and_said")] == [0, 0]
    unread = replace(full(), records=None, destroyed=None)
    assert [unread.as_json()[key] for key in ("lost", "lost_and_said")] == [None, None]
    one = replace(NOTHING_WRONG, lost=1)
    report = replace(full(), records=replace(NOTHING_WRONG, lost=2), destroyed=DestroyedCheck(5, (one,), ()))
    assert [report.as_json()[key] for key in ("lost", "lost_and_said")] == [3, 5]
    counts = "lost 3, lost and said (every copy was destroyed, and a broker's log names the offsets) 5; duplicated 0"
    assert any(line.startswith(counts) for line in report.lines())


def test_violations_come_before_the_last_line() -> None:
    assert list(replace(full(), violations=["lost: one"]).lines())[-2:] == [
        "VIOLATION lost: one",
        "chaos: 1 violations",
    ]
