"""The rows of a run that is saved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bench.measured.recording import save
from bench.measured.run_file import read_run
from tools.chaos.bank.bank_check import check_bank
from tools.chaos.bank.history import BankHistory
from tools.chaos.saved_run import run_rows, target

from tests.tools.chaos.test_report import full


def test_the_target_names_store_and_load() -> None:
    assert [target(store, with_bank=bank) for store in ("sqlite", "zookeeper") for bank in (False, True)] == [
        "chaos",
        "chaos-bank",
        "chaos-zookeeper",
        "chaos-bank-zookeeper",
    ]


def test_a_run_can_be_saved_and_read(tmp_path: Path) -> None:
    report = replace(full(), with_bank=True, bank=check_bank(BankHistory(unstable=["partition 0"])))
    rows = read_run(save("chaos-bank", run_rows(report), tmp_path)).rows
    assert {row.metric: row.ours for row in rows if row.holds} == {
        "records lost": 0,
        "records duplicated": 0,
        "violations": 0,
    }
    assert [row.metric for row in rows if row.holds is False] == ["anomalies of transactions"]


def test_a_count_that_was_not_made_does_not_hold() -> None:
    report = replace(full(), with_bank=True, records=None)
    assert [row.metric for row in run_rows(report) if row.holds is False] == [
        "records lost",
        "records duplicated",
        "anomalies of transactions",
    ]
