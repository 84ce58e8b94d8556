"""For all tests: the marker that names the SPEC's numbers, and no skips in CI but the allowed ones."""

from __future__ import annotations

import os

import pytest

from tests.skip_rule import read_allowed_skips, unexpected_skips
from tests.spec_numbers import mark_by_number, marks

_skipped: list[tuple[str, str]] = []


def pytest_configure(config: pytest.Config) -> None:
    _skipped.clear()
    config.addinivalue_line("markers", "spec(*numbers): the points of the specification that the test shows")
    for mark in marks():
        config.addinivalue_line("markers", mark)
    config.addinivalue_line("markers", "slow: takes more than ten seconds")


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_by_number(items)


def _note_skip(node_id: str, report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        text = report.longrepr
        _skipped.append((node_id, text[2] if isinstance(text, tuple) else str(text)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note_skip(report.nodeid, report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _note_skip(report.nodeid, report)


def _unexpected() -> list[tuple[str, str]]:
    return unexpected_skips(_skipped, read_allowed_skips()) if os.environ.get("CI") == "true" else []


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if _unexpected() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for node_id, reason in _unexpected():
        terminalreporter.write_line(f"not allowed to skip in CI: {node_id}: {reason}", red=True)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """The last line, for whoever reads the outcome by program."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        passed, failed, errors = (len(reporter.stats.get(kind, ())) for kind in ("passed", "failed", "error"))
        print(f"{passed} passed, {failed + errors} failed")
