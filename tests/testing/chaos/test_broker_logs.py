"""What a broker's log tells of a run."""

from __future__ import annotations

from pathlib import Path

from signalbox.testing.chaos.broker_logs import noisiest, troubles

LOG = """2026-11-21T12:30:04.397Z INFO    node=3 signalbox.a: ending the sessions [1]
2026-11-21T12:30:04.398Z INFO    node=3 signalbox.a: ending the sessions [22]
2026-11-21T12:30:04.398Z WARNING node=3 signalbox.b: slow
2026-11-21T12:30:04.399Z ERROR   node=3 signalbox.b: a decision failed
Traceback (most recent call last):
  File "x.py", line 1, in y
ValueError: wrong
2026-11-21T12:30:04.400Z INFO    node=3 signalbox.a: stopped
"""


def test_errors_and_tracebacks_are_troubles(tmp_path: Path) -> None:
    (tmp_path / "broker.log").write_text(LOG)
    assert troubles(tmp_path / "broker.log") == [
        "2026-11-21T12:30:04.399Z ERROR   node=3 signalbox.b: a decision failed",
        "traceback: ValueError: wrong",
    ]


def test_lines_that_differ_in_numbers_alone_are_one_noise(tmp_path: Path) -> None:
    (tmp_path / "broker.log").write_text(LOG)
    assert noisiest(tmp_path / "broker.log", 1) == [("signalbox.a: ending the sessions [#]", 2)]
