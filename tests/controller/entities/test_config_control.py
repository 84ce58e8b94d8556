"""AlterConfigs and IncrementalAlterConfigs (KIP-339), as transcripts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from signalbox.controller.config_rows import CONTROLLER_CONFIG
from signalbox.controller.decision import Decision
from signalbox.controller.entities.config_control import alter_configs, incremental_alter_configs
from signalbox.controller.ports import PolicyViolation
from signalbox.controller.records import ConfigsSet
from signalbox.protocol.config_resource import AlterConfigOp, ConfigResourceType
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from signalbox.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from tests.controller.cluster import inputs
from tests.controller.contexts import make_context, states

SET, DELETE, APPEND, SUBTRACT = AlterConfigOp
TOPIC, BROKER = ConfigResourceType.TOPIC, ConfigResourceType.BROKER
CONTEXT = make_context(
    1,
    2,
    topics={"t": {0: "1*"}, "u": {0: "1*"}},
    configs={"topics/t": {"retention.ms": "5", "cleanup.policy": "compact"}, "topics/u": {}},
)

Increment = tuple[str, int, str | None]


def resource(kind: int, name: str, *increments: Increment) -> IncrementalAlterConfigsRequest.AlterConfigsResource:
    made = [
        IncrementalAlterConfigsRequest.AlterableConfig(name=key, config_operation=operation, value=value)
        for key, operation, value in increments
    ]
    return IncrementalAlterConfigsRequest.AlterConfigsResource(resource_type=kind, resource_name=name, configs=made)


def increment(*resources: IncrementalAlterConfigsRequest.AlterConfigsResource, **fields: Any) -> Decision:
    request = IncrementalAlterConfigsRequest(resources=list(resources), **fields)
    return incremental_alter_configs(CONTEXT, inputs(), request)


def replacing(kind: int, name: str, configs: dict[str, str | None]) -> AlterConfigsRequest.AlterConfigsResource:
    made = [AlterConfigsRequest.AlterableConfig(name=key, value=value) for key, value in configs.items()]
    return AlterConfigsRequest.AlterConfigsResource(resource_type=kind, resource_name=name, configs=made)


def errors(decision: Decision) -> list[Error]:
    assert isinstance(decision.response, IncrementalAlterConfigsResponse | AlterConfigsResponse)
    return [Error.of(each.error_code) for each in decision.response.responses]


@pytest.mark.parametrize(
    ("increments", "expected"),
    [
        ([("retention.ms", SET, "7")], {"retention.ms": "7", "cleanup.policy": "compact"}),
        ([("retention.ms", DELETE, None)], {"cleanup.policy": "compact"}),
        ([("cleanup.policy", APPEND, "delete,compact")], {"retention.ms": "5", "cleanup.policy": "compact,delete"}),
        ([("cleanup.policy", SUBTRACT, "compact")], {"retention.ms": "5", "cleanup.policy": ""}),
        (
            [("segment.ms", SET, "9"), ("retention.ms", DELETE, None)],
            {"segment.ms": "9", "cleanup.policy": "compact"},
        ),
    ],
)
def test_increments(increments: list[Increment], expected: dict[str, str]) -> None:
    decision = increment(resource(TOPIC, "t", *increments))
    assert errors(decision) == [Error.NONE]
    assert decision.records == (ConfigsSet("topics/t", expected),)


def test_append_begins_from_the_default() -> None:
    decision = increment(resource(TOPIC, "u", ("cleanup.policy", APPEND, "compact")))
    assert decision.records == (ConfigsSet("topics/u", {"cleanup.policy": "delete,compact"}),)


@pytest.mark.parametrize("increments", [[], [("retention.ms", SET, "5")], [("segment.ms", DELETE, None)]])
def test_nothing_is_stored_when_nothing_changes(increments: list[Increment]) -> None:
    decision = increment(resource(TOPIC, "t", *increments))
    assert (errors(decision), decision.records) == ([Error.NONE], ())


def test_a_broker_is_notified_of_configs_that_it_has_already() -> None:
    """KIP-226: the notification makes the broker reload a replaced key file of the same name."""
    key = "unclean.leader.election.enable"
    before = replace(CONTEXT, configs={**CONTEXT.configs, "brokers/1": {key: "true"}})
    request = IncrementalAlterConfigsRequest(resources=[resource(BROKER, "1", (key, SET, "true"))])
    decision = incremental_alter_configs(before, inputs(), request)
    assert decision.records == (ConfigsSet("brokers/1", {key: "true"}),)
    assert increment(resource(BROKER, "1")).records == ()


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        (resource(TOPIC, "none"), Error.UNKNOWN_TOPIC_OR_PARTITION),
        (resource(TOPIC, "t", ("retention.ms", SET, None)), Error.INVALID_REQUEST),
        (resource(TOPIC, "t", ("retention.ms", SET, "1"), ("retention.ms", DELETE, None)), Error.INVALID_REQUEST),
        (resource(TOPIC, "t", ("retention.ms", 9, "1")), Error.INVALID_REQUEST),
        (resource(TOPIC, "t", ("retention.ms", APPEND, "1")), Error.INVALID_CONFIG),
        (resource(TOPIC, "t", ("retention.ms", SUBTRACT, "1")), Error.INVALID_CONFIG),
        (resource(TOPIC, "t", ("retention.ms", SET, "soon")), Error.INVALID_CONFIG),
        (resource(TOPIC, "t", ("no.such", SET, "1")), Error.INVALID_CONFIG),
        (resource(ConfigResourceType.GROUP, ""), Error.INVALID_REQUEST),
    ],
)
def test_rejected_increments(wanted: IncrementalAlterConfigsRequest.AlterConfigsResource, error: Error) -> None:
    decision = increment(wanted, resource(TOPIC, "u", ("retention.ms", SET, "1")))
    assert errors(decision) == [error, Error.NONE]
    assert decision.records == (ConfigsSet("topics/u", {"retention.ms": "1"}),)


def test_a_resource_named_twice() -> None:
    twice = resource(TOPIC, "t", ("retention.ms", SET, "1")), resource(TOPIC, "t")
    decision = increment(*twice)
    assert (errors(decision), decision.records) == ([Error.INVALID_REQUEST], ())
    decision = increment(*twice, resource(TOPIC, "u", ("retention.ms", SET, "1")))  # the others are changed
    assert errors(decision) == [Error.INVALID_REQUEST, Error.NONE]
    assert decision.records == (ConfigsSet("topics/u", {"retention.ms": "1"}),)


def test_validate_only() -> None:
    decision = increment(resource(TOPIC, "t", ("retention.ms", SET, "1")), resource(TOPIC, "no"), validate_only=True)
    assert (errors(decision), decision.records) == ([Error.NONE, Error.UNKNOWN_TOPIC_OR_PARTITION], ())


def test_brokers_and_all_brokers() -> None:
    decision = increment(
        resource(BROKER, "1", ("log.retention.ms", SET, "1")), resource(BROKER, "", ("log.retention.ms", SET, "2"))
    )
    assert decision.records == (
        ConfigsSet("brokers/1", {"log.retention.ms": "1"}),
        ConfigsSet("brokers/<default>", {"log.retention.ms": "2"}),
    )


def test_a_broker_key_that_only_a_restart_changes() -> None:
    context = make_context(1, configs={"brokers/1": {"num.partitions": "5"}})
    given = inputs(broker_config_table=CONTROLLER_CONFIG)

    def asked(operation: int, value: str | None) -> Decision:
        change = resource(BROKER, "1", ("num.partitions", operation, value))
        return incremental_alter_configs(context, given, IncrementalAlterConfigsRequest(resources=[change]))

    rejected = asked(SET, "6")
    assert errors(rejected) == [Error.INVALID_REQUEST]
    assert isinstance(rejected.response, IncrementalAlterConfigsResponse)
    message = "Cannot update these configs dynamically: Set(num.partitions)"
    assert rejected.response.responses[0].error_message == message
    # A value that an older release stored has no effect, and can be deleted.
    assert asked(DELETE, None).records == (ConfigsSet("brokers/1", {}),)


def test_alter_configs_replaces_everything() -> None:
    request = AlterConfigsRequest(
        resources=[
            replacing(TOPIC, "t", {"segment.ms": "9"}),
            replacing(TOPIC, "u", {"segment.ms": None}),
            replacing(TOPIC, "none", {}),
        ]
    )
    decision = alter_configs(CONTEXT, inputs(), request)
    assert errors(decision) == [Error.NONE, Error.INVALID_REQUEST, Error.UNKNOWN_TOPIC_OR_PARTITION]
    assert decision.records == (ConfigsSet("topics/t", {"segment.ms": "9"}),)


class NoCompaction:
    """A policy that validates the resulting configs."""

    def validate(self, resource_type: str, resource_name: str, configs: Any) -> None:
        if configs.get("cleanup.policy") == "compact":
            raise PolicyViolation(f"{resource_type} {resource_name} must not be compacted")


def test_policies_see_the_whole_result() -> None:
    given = replace(inputs(), alter_config_policy=NoCompaction())
    request = IncrementalAlterConfigsRequest(resources=[resource(TOPIC, "t", ("retention.ms", SET, "1"))])
    decision = incremental_alter_configs(CONTEXT, given, request)
    assert errors(decision) == [Error.POLICY_VIOLATION]
    assert isinstance(decision.response, IncrementalAlterConfigsResponse)
    assert decision.response.responses[0].error_message == "TOPIC t must not be compacted"


def test_unclean_elections_happen_as_soon_as_they_are_allowed() -> None:
    topics = {name: {0: "1* 2 isr 1"} for name in ("t", "u", "v")}
    context = make_context(2, topics=topics, configs={"topics/v": {"unclean.leader.election.enable": "false"}})
    one = IncrementalAlterConfigsRequest(
        resources=[resource(TOPIC, "t", ("unclean.leader.election.enable", SET, "true"))]
    )
    assert states(incremental_alter_configs(context, inputs(), one)) == {"t-0": "2/8/4 isr 2"}
    everywhere = IncrementalAlterConfigsRequest(
        resources=[resource(BROKER, "", ("unclean.leader.election.enable", SET, "true"))]
    )
    assert states(incremental_alter_configs(context, inputs(), everywhere)) == {
        "t-0": "2/8/4 isr 2",
        "u-0": "2/8/4 isr 2",
    }
    # The controller's own broker config precedes the cluster-wide default.
    denied = replace(context, configs={**context.configs, "brokers/1": {"unclean.leader.election.enable": "false"}})
    assert states(incremental_alter_configs(denied, inputs(), everywhere)) == {}
    here = IncrementalAlterConfigsRequest(
        resources=[resource(BROKER, str(context.controller_id), ("unclean.leader.election.enable", SET, "true"))]
    )
    assert states(incremental_alter_configs(context, inputs(), here)) == {"t-0": "2/8/4 isr 2", "u-0": "2/8/4 isr 2"}
