"""Sends every question to both sides and compares their responses."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from signalbox.broker.conformance import AnswerRow
from signalbox.protocol.api_table import API_TABLE
from signalbox.protocol.error_table import Error
from tests.system.wire_diff.comparison import Comparison, compare
from tests.system.wire_diff.plain_answer import Rows
from tests.system.wire_diff.question import Question
from tests.system.wire_diff.questions import CHANGES
from tests.system.wire_diff.sides import Side

_SETTLES_WITHIN_S = 10.0
_COORDINATOR_WITHIN_S = 15.0
_PAUSE_S = 0.1
_NOT_YET = (
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_COORDINATOR,
    Error.CONCURRENT_TRANSACTIONS,
)


def ask_all(ours: Side, kafka: Side, questions: Iterable[Question], rows: list[AnswerRow]) -> Iterator[Comparison]:
    """One result for each question and version, in order."""
    for question in questions:
        for version in question.versions or shared_versions(question.api, ours, kafka):
            yield _ask(ours, kafka, question, version, rows)


def shared_versions(api: int, ours: Side, kafka: Side) -> tuple[int, ...]:
    """The lowest and the highest version of an API that both sides serve."""
    (low_here, high_here), (low_there, high_there) = ours.versions[api], kafka.versions[api]
    served = API_TABLE[api].min_version  # Produce is listed from version 0 on, and supported from 3 on
    return tuple(sorted({max(low_here, low_there, served), min(high_here, high_there)}))


def _ask(ours: Side, kafka: Side, question: Question, version: int, rows: list[AnswerRow]) -> Comparison:
    """A question that changes nothing is repeated while the responses differ without a row: the effect of an earlier
    change may not be visible yet (a leader that is being elected)."""
    deadline = time.monotonic() + _SETTLES_WITHIN_S
    while True:
        here, there = _of_a_coordinator(ours, question, version), _of_a_coordinator(kafka, question, version)
        comparison = compare(question.label(version), here, there, rows)
        if comparison.explained or question.api in CHANGES or time.monotonic() > deadline:
            return comparison
        time.sleep(_PAUSE_S)


def _of_a_coordinator(side: Side, question: Question, version: int) -> Rows:
    """The response; a change sent to a coordinator that is still loading has not been made, and is retried."""
    deadline = time.monotonic() + _COORDINATOR_WITHIN_S
    while True:
        answer = side.ask(question, version)
        waits = question.api in CHANGES and answer.get("error_code") in _NOT_YET
        if not waits or time.monotonic() > deadline:
            return answer
        time.sleep(_PAUSE_S)
