"""For all tests: the marker for the SPEC's numbers, in CI no skips but the allowed ones, groups for parallel workers,
and no thread that outlives the tests: the interpreter would wait for it forever."""

from __future__ import annotations

import gc
import os
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from signalbox.testing.process_cluster import ProcessCluster
from tests.skip_rule import read_allowed_skips, unexpected_skips
from tests.spec_numbers import mark_by_number, marks
from tests.system_marker import SYSTEM, mark_system
from tests.testing.fork_server import ForkServer
from tests.threads_left import stack_of, threads_left
from tests.worker_groups import GroupScheduling, import_own_share, order_items

_THREAD_TIMEOUT_S = 10.0
_THREADS, _SKIPS = "signalbox_threads", "signalbox_skips"  # keys of a parallel worker's report at its end
_skipped: list[tuple[str, str]] = []
_skipped_at_collection: list[tuple[str, str]] = []
_left: list[str] = []


# No bound on time: an example that takes long on a busy machine is no failure. A failure prints how to repeat it.
settings.register_profile("signalbox", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("signalbox")


def pytest_configure(config: pytest.Config) -> None:
    ProcessCluster.start_node = ForkServer().start
    _skipped.clear()
    _skipped_at_collection.clear()
    _left.clear()
    config.addinivalue_line("markers", "spec(*numbers): the points of the specification that the test shows")
    for mark in marks():
        config.addinivalue_line("markers", mark)
    config.addinivalue_line("markers", SYSTEM)
    config.addinivalue_line("markers", "slow: takes more than ten seconds")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    import_own_share(session.config)


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark_by_number(items)
    mark_system(config.rootpath, items)
    order_items(config.rootpath, items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Fetches what the selected system tests need (their module's `NEEDS`) before the first timeout begins."""
    if not session.config.option.collectonly:
        chosen = [item for item in session.items if item.get_closest_marker("system")]
        for module in dict.fromkeys(item.getparent(pytest.Module) for item in chosen):
            for fetch in getattr(getattr(module, "obj", None), "NEEDS", ()):
                fetch()
    # A full collection takes seconds with twelve thousand collected tests: it need not look at them again.
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> GroupScheduling:
    return GroupScheduling(config, log)


def _note_skip(node_id: str, report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        text = report.longrepr
        _skipped.append((node_id, text[2] if isinstance(text, tuple) else str(text)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note_skip(report.nodeid, report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    before = len(_skipped)
    _note_skip(report.nodeid, report)
    _skipped_at_collection.extend(_skipped[before:])


def _unexpected() -> list[tuple[str, str]]:
    return unexpected_skips(_skipped, read_allowed_skips()) if os.environ.get("CI") == "true" else []


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    _left.extend(f"{thread.name}\n{stack_of(thread)}" for thread in threads_left(_THREAD_TIMEOUT_S))
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output.update({_THREADS: _left, _SKIPS: _skipped_at_collection})
    elif (_unexpected() or _left) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """A worker of pytest-xdist has ended; xdist forwards skips of tests, but not those of whole files."""
    output = getattr(node, "workeroutput", {})
    _left.extend(output.get(_THREADS, []))
    _skipped.extend((node_id, reason) for node_id, reason in output.get(_SKIPS, []))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for node_id, reason in _unexpected():
        terminalreporter.write_line(f"not allowed to skip in CI: {node_id}: {reason}", red=True)
    for thread in _left:
        terminalreporter.write_line(f"a thread outlives the tests: {thread}", red=True)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Prints the last line, for programs that read the outcome."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not hasattr(config, "workeroutput"):
        passed, failed, errors = (len(reporter.stats.get(kind, ())) for kind in ("passed", "failed", "error"))
        print(f"{passed} passed, {failed + errors} failed")
    if _left:
        sys.stdout.flush()
        os._exit(1)
