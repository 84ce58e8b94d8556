"""A run as a file of `bench/history`, beside those of the benches: what it covered, and counts that must be 0."""

from __future__ import annotations

from collections.abc import Iterator

from bench.measured.run_file import RunRow

from tools.chaos.plan import Kind
from tools.chaos.report import Report


def target(store: str, *, with_bank: bool) -> str:
    """The target of the file: runs of different stores and loads stand beside each other."""
    parts = ("chaos", "bank" if with_bank else "", store if store != "sqlite" else "")
    return "-".join(filter(None, parts))


def run_rows(report: Report) -> list[RunRow]:
    """The rows; a count that could not be made is null, and its row fails."""
    return list(_rows(report))


def _rows(report: Report) -> Iterator[RunRow]:
    yield _figure("duration", round(report.seconds, 1), "s")
    yield _figure("faults", len(report.faults))
    destroyed = [fault for fault in report.faults if fault.kind == Kind.COPIES_DESTROYED.value]
    yield _figure("faults that destroy every copy of a partition", len(destroyed))
    yield _figure("records acknowledged", report.acknowledged)
    yield _zero("records lost", report.lost)
    yield _figure("records lost and reported", report.destroyed.lost_and_logged if report.destroyed else None)
    yield _zero("records duplicated", report.records.duplicated if report.records else None)
    if report.with_bank:
        yield _figure("transactions committed", report.bank.committed if report.bank else None)
        yield _figure("transactions aborted", report.bank.aborted if report.bank else None)
        yield _zero("anomalies of transactions", sum(report.bank.counts.values()) if report.bank else None)
    yield _zero("violations", len(report.violations))


def _figure(metric: str, figure: float | None, unit: str | None = None) -> RunRow:
    return RunRow(metric, unit, figure, None, None, None, False, None, None)


def _zero(metric: str, count: int | None) -> RunRow:
    return RunRow(metric, None, count, None, None, 0, False, count == 0, None)
