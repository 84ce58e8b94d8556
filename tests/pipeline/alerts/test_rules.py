"""Which events become alerts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from signalbox.pipeline.alerts.rules import AlertRules, EventGroup, RuleSettings
from signalbox.pipeline.audit.rule_table import Rule

pytestmark = pytest.mark.spec("P12")


def group(**facts: Any) -> EventGroup:
    known: dict[str, Any] = {
        "kind": "rollup", "broker_id": 1, "broker_epoch": 7, "seq": 4, "listener": "CLIENT", "plane": "data",
        "principal": "User:alice", "forwarding_principal": "", "client_id": "shop", "client_address": "10.0.0.9",
        "api": "PRODUCE", "reason": "", "expected": "", "actual": "", "count": 1, "first_ms": 1_000, "last_ms": 1_000,
    }  # fmt: skip
    return EventGroup(**{**known, **facts})


FORWARDED = group(kind="admin", listener="REPLICATION", forwarding_principal="User:broker", api="CREATE_TOPICS")
REPLICATION = group(listener="REPLICATION", principal="User:broker", api="FETCH")
POSING = group(principal="User:broker", client_address="10.6.6.6")


def misroute(count: int, at_ms: int = 1_000, **facts: Any) -> EventGroup:
    return group(kind="misrouted", expected="c/1", actual="c/2", count=count, first_ms=at_ms, last_ms=at_ms, **facts)


def rejected(at_ms: int = 1_000, **facts: Any) -> EventGroup:
    known = {"kind": "rejected", "plane": "control", "listener": "CONTROL", "reason": "data API"}
    return group(**{**known, "first_ms": at_ms, "last_ms": at_ms, **facts})


def test_ordinary_events_are_no_alert() -> None:
    assert AlertRules().alerts([group(), REPLICATION, FORWARDED, misroute(99), rejected(plane="data")]) == []


def test_a_broker_principal_on_a_listener_of_clients() -> None:
    (alert,) = AlertRules().alerts([group(), FORWARDED, REPLICATION, POSING])
    assert (alert.rule, alert.client_address) == (Rule.BROKER_ON_A_PUBLIC_LISTENER, "10.6.6.6")
    assert "User:broker, with which brokers log in, uses the public listener CLIENT from 10.6.6.6" in alert.text


def test_brokers_and_listeners_are_remembered_between_batches() -> None:
    rules = AlertRules()
    assert rules.alerts([group(), FORWARDED]) == []
    assert len(rules.alerts([POSING])) == 1


def test_a_restarted_run_knows_brokers_listeners_and_the_misroutes_of_the_last_minute() -> None:
    rules = AlertRules()
    rules.recall(["User:broker", "User:ANONYMOUS"], [("CLIENT", "User:alice"), ("CLIENT", "")], [misroute(60)])
    assert [alert.rule for alert in rules.alerts([POSING, misroute(50, 2_000)])] == [
        Rule.BROKER_ON_A_PUBLIC_LISTENER,
        Rule.MISROUTE_STORM,
    ]


def test_brokers_and_public_listeners_can_be_named() -> None:
    assert AlertRules().alerts([POSING]) == []
    settings = RuleSettings(broker_principals=frozenset({"User:broker"}), public_listeners=frozenset({"CLIENT"}))
    assert len(AlertRules(settings).alerts([POSING])) == 1


def test_a_client_that_is_rejected_makes_no_listener_public() -> None:
    intruder = group(kind="denied", listener="REPLICATION")
    assert AlertRules().alerts([intruder, FORWARDED, REPLICATION]) == []
    settings = RuleSettings(public_listeners=frozenset({"CLIENT"}))
    assert AlertRules(settings).alerts([group(listener="REPLICATION"), FORWARDED, REPLICATION]) == []


def test_brokers_that_do_not_log_in_are_not_distinguished_from_clients() -> None:
    anonymous = group(kind="admin", forwarding_principal="User:ANONYMOUS", principal="User:ANONYMOUS")
    assert AlertRules().alerts([anonymous, group(), group(principal="User:ANONYMOUS")]) == []


def test_misroutes_of_a_pair_add_up_within_a_minute() -> None:
    rules = AlertRules()
    assert rules.alerts([misroute(60), misroute(39, 2_000)]) == []
    (alert,) = rules.alerts([misroute(1, 3_000)])
    assert (alert.rule, alert.count) == (Rule.MISROUTE_STORM, 100)
    assert rules.alerts([misroute(500, 4_000)]) == []
    assert AlertRules().alerts([misroute(60), misroute(60, 70_000)]) == []


def test_a_broker_whose_clock_is_ahead_neither_adds_up_nor_silences() -> None:
    rules = AlertRules()
    ahead_ms = 3_601_000
    assert rules.alerts([misroute(1, ahead_ms)]) == []
    assert rules.alerts([misroute(60, 1_000)]) == rules.alerts([misroute(60, 100_000)]) == []
    (alert,) = rules.alerts([misroute(100, ahead_ms + 1_000)])
    assert alert.count == 101
    (alert,) = rules.alerts([misroute(40, 140_000)])
    assert alert.count == 100
    assert len(rules.alerts([rejected(ahead_ms)])) == 1
    assert len(rules.alerts([rejected(1_000)])) == 1
    assert rules.alerts([rejected(2_000), rejected(ahead_ms + 1_000)]) == []


def test_what_a_copy_has_seen_is_unknown_to_the_rules() -> None:
    rules = AlertRules()
    rules.alerts([misroute(60)])
    seen = [group(), FORWARDED, POSING, misroute(40, 2_000), rejected()]
    first, second = (rules.copied().alerts(seen) for _ in range(2))
    assert first == second
    assert [alert.rule for alert in first] == [
        Rule.BROKER_ON_A_PUBLIC_LISTENER,
        Rule.REJECTED_CONTROL_REQUEST,
        Rule.MISROUTE_STORM,
    ]
    assert rules.alerts([POSING]) == []


def test_an_alert_comes_again_after_a_minute() -> None:
    rules = AlertRules()
    assert [alert.rule for alert in rules.alerts([rejected()])] == [Rule.REJECTED_CONTROL_REQUEST]
    assert rules.alerts([rejected(30_000)]) == []
    assert len(rules.alerts([rejected(30_000, principal="User:mallory")])) == 1
    assert len(rules.alerts([rejected(61_001)])) == 1


@pytest.mark.parametrize("kind", ["rejected", "denied", "policy"])
def test_a_control_request_that_is_rejected(kind: str) -> None:
    (alert,) = AlertRules().alerts([rejected(kind=kind)])
    assert f"PRODUCE of User:alice was {kind} on the control plane (listener CONTROL): data API" in alert.text


def test_an_alert_is_a_record_whose_key_names_its_event() -> None:
    (alert,) = AlertRules().alerts([rejected()])
    key, value = alert.encoded()
    assert key == b"rejected_control_request:1:7:4"
    content = json.loads(value)
    assert (content["version"], content["rule"], content["client_id"]) == (1, "rejected_control_request", "shop")
