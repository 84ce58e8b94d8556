from __future__ import annotations

import pytest

from signalbox.client.produce_outcome import Verdict, verdict_of
from signalbox.protocol.error_table import Error


@pytest.mark.parametrize("error", list(Error))
def test_every_error_has_a_verdict(error: Error) -> None:
    assert isinstance(verdict_of(error, 2, False), Verdict)


@pytest.mark.parametrize(
    ("error", "records", "maybe_appended", "verdict"),
    [
        (Error.NONE, 1, True, Verdict.DONE),
        (Error.DUPLICATE_SEQUENCE_NUMBER, 1, True, Verdict.DONE),
        (Error.NOT_LEADER_OR_FOLLOWER, 1, False, Verdict.AGAIN),
        (Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND, 1, False, Verdict.AGAIN),
        (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, 1, False, Verdict.NEW_IDENTITY),
        (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, 1, True, Verdict.REJECTED),
        (Error.MESSAGE_TOO_LARGE, 2, False, Verdict.SPLIT),
        (Error.MESSAGE_TOO_LARGE, 2, True, Verdict.REJECTED),
        (Error.MESSAGE_TOO_LARGE, 1, False, Verdict.REJECTED),
        (Error.TOPIC_AUTHORIZATION_FAILED, 1, False, Verdict.REJECTED),
    ],
)
def test_what_becomes_of_a_batch(error: Error, records: int, maybe_appended: bool, verdict: Verdict) -> None:
    assert verdict_of(error, records, maybe_appended) is verdict
