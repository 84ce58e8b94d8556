"""What a broker's log shows about a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.chaos.broker_logs import logged_losses, noisiest, troubles
from tools.chaos.destroyed_topics import LoggedLoss

from signalbox.common.ids import TopicPartition

LOG = """2026-11-21T12:30:04.397Z INFO    node=3 signalbox.a: Ending sessions [1]
2026-11-21T12:30:04.398Z INFO    node=3 signalbox.a: Ending sessions [22]
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
    assert noisiest(tmp_path / "broker.log", 1) == [("signalbox.a: Ending sessions [#]", 2)]


LOST = "has lost acknowledged records (leader epoch=1, log end offset=40, high watermark before=60, unclean election="
CALLED_FOR = {
    "all copies destroyed": "2026-11-22T20:26:40.663Z ERROR   node=2 signalbox.replication.follower.truncation: "
    f"Partition copies-destroyed-1-0 {LOST}False): records from offset 40 to 59 are lost, unless a replica "
    "that is offline",
    "bits flipped": "2026-11-22T20:22:05.554Z ERROR   node=2 signalbox.storage.log_loader: /x/chaos-5/0.log is "
    "corrupt: truncated to offset 292 by recovery (base offset 536871204 instead of 292, bytes=406021).",
    "store restored": "2026-11-22T20:26:40.663Z ERROR   node=2 signalbox: not started: signalbox.metadata.store "
    "(sqlite:/x): is an older copy (generation=5) than /x has seen (generation=7). Run `signalbox store accept-older "
    "--config <file>`",
}


@pytest.mark.parametrize("kind", CALLED_FOR)
def test_the_error_that_a_fault_calls_for_is_none_of_them(tmp_path: Path, kind: str) -> None:
    (tmp_path / "broker.log").write_text("\n".join([*CALLED_FOR.values(), LOG]))
    assert len(troubles(tmp_path / "broker.log")) == 5
    left = troubles(tmp_path / "broker.log", {kind, "SIGKILL"})
    assert len(left) == 4
    assert CALLED_FOR[kind] not in left


def test_the_same_loss_in_a_topic_whose_copies_were_not_destroyed_is_a_trouble(tmp_path: Path) -> None:
    (tmp_path / "broker.log").write_text(CALLED_FOR["all copies destroyed"].replace("copies-destroyed-1", "chaos"))
    assert len(troubles(tmp_path / "broker.log", {"all copies destroyed"})) == 1


def test_losses_that_new_leaders_name(tmp_path: Path) -> None:
    unclean = "Partition a-b-7 has a leader by unclean election (leader epoch=3, log end offset=0): records from offset"
    rows = [
        CALLED_FOR["all copies destroyed"],
        f"2026-11-22T20:26:40.663Z WARNING node=2 signalbox.x: {unclean} 0 on are lost, unless a replica",
        f"2026-11-22T20:26:40.663Z INFO    node=2 signalbox.x: {unclean} 0 on are lost, unless a replica",
        "2026-11-22T20:26:40.663Z WARNING node=2 signalbox.x: Log of a-b-7 ends below its high watermark (log end "
        "offset=4, high watermark=8): records from offset 4 to 7 are gone from this replica",
    ]
    (tmp_path / "broker.log").write_text("\n".join(rows))
    assert logged_losses(tmp_path / "broker.log") == [
        LoggedLoss(TopicPartition("copies-destroyed-1", 0), 40, 59),
        LoggedLoss(TopicPartition("a-b", 7), 0, None),
    ]
