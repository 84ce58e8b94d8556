"""The report of a drill."""

from __future__ import annotations

import json

import pytest

from signalbox.testing.drill.report import json_report, text_report
from signalbox.testing.drill.story_result import StoryResult

pytestmark = pytest.mark.spec("R7")

GOOD = StoryResult(
    story="1 one", expected=frozenset({0}), served=frozenset({0, 2}), acknowledged=12, recovered_ms=40.4,
    sent_identity=True,
)  # fmt: skip
BAD = StoryResult(story="12 two words", expected=frozenset({1}), acknowledged=9, failed=3, lost=2, misplaced=2)


def test_a_table() -> None:
    assert text_report([GOOD, BAD]) == (
        "story         result  served  acked  failed  recovered  lost  twice  misplaced  identity\n"
        "1 one         passed  2 of 3  12     0       40 ms      0     0      0          sent\n"
        "12 two words  FAILED  0 of 3  9      3       never      2     0      2          not sent\n"
        "    2 acknowledged records are lost\n"
        "    2 records are in the other cluster\n"
        "    no record of partition 1 was acknowledged, though its leader was reachable\n"
        "    it did not go on when the routes were right again\n"
        "1 passed, 1 failed"
    )


def test_the_same_for_programs() -> None:
    good, bad = json.loads(json_report([GOOD, BAD]))
    assert (good["story"], good["passed"], good["faults"], good["served"]) == ("1 one", True, [], [0, 2])
    assert (bad["passed"], len(bad["faults"]), bad["lost"], bad["recovered_ms"]) == (False, 4, 2, None)
