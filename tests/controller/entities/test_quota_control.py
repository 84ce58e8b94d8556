"""AlterClientQuotas: stored quotas and errors, one result per entity."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision
from signalbox.controller.entities.quota_control import alter_client_quotas
from signalbox.controller.records import ConfigsSet
from signalbox.controller.replay import replay
from signalbox.metadata.store.port import Create, Delete, Write
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from tests.controller.cluster import inputs
from tests.controller.contexts import make_context

_R = AlterClientQuotasRequest
Ops = dict[str, float | None]


def entry(entity: dict[str, str | None], ops: Ops | list[tuple[str, float | None]]) -> Any:
    pairs = ops.items() if isinstance(ops, dict) else ops
    return _R.EntryData(
        entity=[_R.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        ops=[_R.OpData(key=key, value=value or 0.0, remove=value is None) for key, value in pairs],
    )


def decided(*entries: Any, context: ControllerContext | None = None, validate_only: bool = False) -> Decision:
    request = _R(entries=list(entries), validate_only=validate_only)
    return alter_client_quotas(context or make_context(1, configs={}), inputs(), request)


def results(decision: Decision) -> list[tuple[Error, str | None]]:
    response: Any = decision.response
    return [(Error.of(each.error_code), each.error_message) for each in response.entries]


@pytest.mark.parametrize(
    ("entity", "path"),
    [
        ({"user": "alice"}, "users/alice"),
        ({"user": None}, "users/<default>"),
        ({"client-id": "my app"}, "clients/my%20app"),
        ({"client-id": None, "user": "CN=a,O=b"}, "users/CN%3Da%2CO%3Db/clients/<default>"),
        ({"ip": "10.0.0.1"}, "ips/10.0.0.1"),
    ],
)
def test_every_kind_of_entity_has_its_place(entity: dict[str, str | None], path: str) -> None:
    ops: Ops = {"connection_creation_rate": 5.0} if "ip" in entity else {"producer_byte_rate": 1024.0}
    decision = decided(entry(entity, ops))
    [record] = decision.records
    assert isinstance(record, ConfigsSet)
    assert record.entity_path == path
    assert results(decision) == [(Error.NONE, None)]


def test_values_are_stored_as_kafka_writes_them() -> None:
    ops: Ops = {"consumer_byte_rate": 2048.0, "request_percentage": 12.5, "controller_mutation_rate": 3.0}
    [record] = decided(entry({"user": "u"}, ops)).records
    assert isinstance(record, ConfigsSet)
    assert record.configs == {
        "consumer_byte_rate": "2048",
        "request_percentage": "12.5",
        "controller_mutation_rate": "3.0",
    }


def test_other_configs_of_a_user_stay() -> None:
    context = make_context(1, configs={"users/u": {"SCRAM-SHA-256": "x", "producer_byte_rate": "1"}})
    [record] = decided(entry({"user": "u"}, {"producer_byte_rate": None}), context=context).records
    assert record == ConfigsSet("users/u", {"SCRAM-SHA-256": "x"})
    assert decided(entry({"user": "u"}, {"consumer_byte_rate": None}), context=context).records == ()
    assert decided(entry({"user": "u"}, {"producer_byte_rate": 2.0}), context=context, validate_only=True).records == ()


@pytest.mark.parametrize(
    ("bad", "gist"),
    [
        (entry({}, {}), "Invalid empty client quota entity"),
        (entry({"ip": "1.2.3.4", "user": "u"}, {}), "Invalid empty client quota entity"),
        (entry({"planet": "x"}, {}), "Unhandled client quota entity type: planet"),
        (entry({"user": ""}, {}), "Empty user not supported"),
        (entry({"ip": "a-name"}, {}), "a-name is not a valid IP"),
        (entry({"user": "u"}, {"connection_creation_rate": 1.0}), "Invalid configuration key connection_creation_rate"),
        (entry({"ip": None}, {"producer_byte_rate": 1.0}), "Invalid configuration key producer_byte_rate"),
        (entry({"user": "u"}, {"producer_byte_rate": 1.5}), "must be a Long value"),
        (entry({"ip": None}, {"connection_creation_rate": 2.0**31}), "must be a Integer value"),
        (entry({"user": "u"}, {"producer_byte_rate": 0.0}), "must be greater than 0"),
        (entry({"user": "u"}, {"request_percentage": -1.0}), "must be greater than 0"),
        (entry({"user": "u"}, {"request_percentage": float("nan")}), "must be greater than 0"),
        (entry({"user": "u"}, {"producer_byte_rate": float("inf")}), "must be a Long value"),
        (entry({"user": "u"}, [("request_percentage", 1.0), ("request_percentage", 2.0)]), "Duplicate quota key"),
    ],
)  # fmt: skip
def test_a_bad_entity_is_rejected_alone(bad: Any, gist: str) -> None:
    decision = decided(bad, entry({"user": "good"}, {"producer_byte_rate": 1.0}))
    [(error, message), fine] = results(decision)
    assert error is Error.INVALID_REQUEST
    assert gist in (message or "")
    assert fine == (Error.NONE, None)
    assert len(decision.records) == 1


def test_an_entity_named_twice_is_rejected_the_second_time() -> None:
    once = entry({"user": "u"}, {"producer_byte_rate": 1.0})
    assert [error for error, _ in results(decided(once, once))] == [Error.NONE, Error.INVALID_REQUEST]


def test_folders_above_a_pair_are_made_and_kept() -> None:
    """`users/u` stays as long as it has children: ZooKeeper would reject its deletion."""
    context = make_context(1, configs={})
    made = decided(entry({"user": "u", "client-id": "c"}, {"producer_byte_rate": 1.0}), context=context)
    after, operations = replay(context, made.records)
    created = [operation.path for operation in operations if isinstance(operation, Create)][:3]
    assert created == ["/config/users/u", "/config/users/u/clients", "/config/users/u/clients/c"]
    own = decided(entry({"user": "u"}, {"producer_byte_rate": 1.0}), context=after)
    after, operations = replay(after, own.records)
    assert isinstance(operations[0], Write)
    gone = decided(entry({"user": "u"}, {"producer_byte_rate": None}), context=after)
    after, operations = replay(after, gone.records)
    assert not any(isinstance(operation, Delete) for operation in operations)
    leaf = decided(entry({"user": "u", "client-id": "c"}, {"producer_byte_rate": None}), context=after)
    _, operations = replay(after, leaf.records)
    assert operations[0] == Delete("/config/users/u/clients/c")


def test_what_has_no_end_is_stored_as_java_says_it() -> None:
    decision = decided(entry({"user": "a"}, {"request_percentage": float("inf"), "controller_mutation_rate": 1e308}))
    assert decision.records == (
        ConfigsSet("users/a", {"request_percentage": "Infinity", "controller_mutation_rate": "1e+308"}),
    )
