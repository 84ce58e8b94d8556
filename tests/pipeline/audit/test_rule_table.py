"""The conditions that the alerts and the report share."""

from __future__ import annotations

import pytest

from signalbox.pipeline.alerts.watch import NEEDED
from signalbox.pipeline.audit.rule_table import (
    MISROUTE_STORM,
    RULE_TABLE,
    Rule,
    is_control_rejection,
    is_public,
    is_storm,
    names_someone,
    poses_as_broker,
)
from signalbox.pipeline.report.anomalies import RULES

pytestmark = pytest.mark.spec("P2", "P12")
BROKERS = {"User:broker"}


def test_every_rule_of_alerts_is_one_of_the_report() -> None:
    assert set(RULE_TABLE) == set(Rule)
    assert {text.title for text in RULE_TABLE.values()} <= set(RULES)


def test_alerts_are_given_every_kind_of_event_that_a_rule_needs() -> None:
    assert all(f"'{kind}'" in NEEDED for text in RULE_TABLE.values() for kind in text.kinds)


def test_who_is_a_broker_and_where_clients_connect() -> None:
    assert [names_someone(principal) for principal in ("", "User:ANONYMOUS", "User:alice")] == [False, False, True]
    assert is_public({"User:alice", "User:broker"}, BROKERS)
    assert not is_public(BROKERS, BROKERS)
    assert poses_as_broker("User:broker", BROKERS, on_public_listener=True)
    assert not poses_as_broker("User:broker", BROKERS, on_public_listener=False)
    assert not poses_as_broker("User:alice", BROKERS, on_public_listener=True)


def test_a_storm_and_a_rejection_of_the_control_plane() -> None:
    assert [is_storm(count) for count in (MISROUTE_STORM - 1, MISROUTE_STORM)] == [False, True]
    assert is_control_rejection("policy", "control")
    assert not is_control_rejection("rejected", "data")
    assert not is_control_rejection("misrouted", "control")
