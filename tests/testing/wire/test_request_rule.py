"""Which requests a rule takes."""

from __future__ import annotations

import pytest

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.headers import RequestHeader
from signalbox.testing.wire.request_rule import LineRules, PresentedIdentity, RequestRule, RuleAction

pytestmark = pytest.mark.spec("R7")


def header(api: ApiKey = ApiKey.PRODUCE, client_id: str | None = "c") -> RequestHeader:
    return RequestHeader(api, 9, 1, client_id)


@pytest.mark.parametrize(
    ("first", "times", "taken"),
    [
        (1, 1, [True, False, False, False]),
        (2, 2, [False, True, True, False]),
        (3, None, [False, False, True, True]),
    ],
)
def test_requests_are_counted_from_one(first: int, times: int | None, taken: list[bool]) -> None:
    rule = RequestRule(RuleAction.DROP, ApiKey.PRODUCE, first=first, times=times)
    assert [rule.takes(header()) for _ in range(4)] == taken
    assert rule.taken == sum(taken)


def test_other_apis_and_clients_are_not_counted() -> None:
    rule = RequestRule(RuleAction.DROP, ApiKey.PRODUCE, client_id="mine")
    assert not rule.takes(header(ApiKey.FETCH, "mine"))
    assert not rule.takes(header(client_id="other"))
    assert not rule.takes(header(client_id=None))
    assert rule.takes(header(client_id="mine"))


def test_every_rule_counts_and_the_first_one_decides() -> None:
    first = RequestRule(RuleAction.DROP, ApiKey.PRODUCE)
    second = RequestRule(RuleAction.STALL, ApiKey.PRODUCE, first=2)
    rules = LineRules(rules=[first, second])
    assert [rules.rule_for(header()) for _ in range(3)] == [first, second, None]


@pytest.mark.parametrize(
    ("identity", "accepted"),
    [
        (PresentedIdentity(), True),
        (PresentedIdentity(node_id=1), True),
        (PresentedIdentity("A", 1), True),
        (PresentedIdentity(node_id=2), False),
        (PresentedIdentity("B"), False),
    ],
)
def test_an_identity_compares_the_halves_that_it_has(identity: PresentedIdentity, accepted: bool) -> None:
    assert identity.accepts("A", 1) is accepted
