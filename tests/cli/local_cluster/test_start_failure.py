"""A start that failed: the cause first."""

from __future__ import annotations

from signalbox.cli.local_cluster.start_failure import cause_first

INFO = "2026-11-26T19:00:00.000Z INFO    node=1 signalbox.wiring: starting"
ERROR = "2026-11-26T19:00:00.001Z ERROR   node=1 signalbox.wiring.serve: not started: log.dirs (/x): Not a directory"


def test_an_error_of_the_log_is_the_cause() -> None:
    lines = cause_first("\n".join(["broker 1 ended; the end of its log:", *[INFO] * 40, ERROR]))
    assert lines[0] == "broker 1 ended: not started: log.dirs (/x): Not a directory"
    assert lines[1] == "the end of its log:"
    assert lines[-1] == ERROR
    assert len(lines) < 20


def test_faults_of_the_configuration_are_the_cause() -> None:
    log = ["a.properties:3: key (many): wrong", "a.properties:4: key (few): wrong", "not started: 2 faults"]
    assert cause_first("\n".join(["broker 1 ended; the end of its log:", *log])) == [
        "broker 1 ended: a.properties:3: key (many): wrong",
        "broker 1 ended: a.properties:4: key (few): wrong",
    ]


def test_other_failures_stay_as_they_are() -> None:
    assert cause_first("broker 1 already runs") == ["broker 1 already runs"]
    text = f"broker 1 was not ready after 60 s; the end of its log:\n{INFO}"
    assert cause_first(text) == text.splitlines()
