"""Policies by import path, and what their rejections log and audit (SPEC F11)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from signalbox.common.audit_event import AuditEvent, AuditKind
from signalbox.configuration.policies import Policies, audited, policy_faults, read_policies
from signalbox.controller.ports import PolicyViolation
from signalbox.protocol.error_table import Error, KafkaError
from tests.configuration.settings import config_of

HERE = "tests.configuration.test_policies"


class OnlySmall:
    """A user's policy: topics of up to `only.small.partitions` partitions."""

    def __init__(self, configuration: Mapping[str, str]) -> None:
        self.limit = int(configuration.get("only.small.partitions", "4"))

    def validate(self, topic: str, partitions: int | None, *_: Any) -> None:
        if partitions is not None and partitions > self.limit:
            raise PolicyViolation(f"{topic}: at most {self.limit} partitions")


class NoCompaction:
    def __init__(self, configuration: Mapping[str, str]) -> None:
        pass

    def validate(self, resource_type: str, resource_name: str, configs: Mapping[str, str]) -> None:
        if "compact" in configs.get("cleanup.policy", ""):
            raise PolicyViolation("no compaction here")


class Broken:
    def __init__(self, configuration: Mapping[str, str]) -> None:
        pass

    def validate(self, *_: Any) -> None:
        raise ZeroDivisionError


class Silent:
    """A class without a method validate."""

    def __init__(self, configuration: Mapping[str, str]) -> None:
        pass


class AuditRecorder:
    def __init__(self) -> None:
        self.events: list[AuditEvent] = []

    def record(self, event: AuditEvent) -> None:
        self.events.append(event)


def read(**keys: str) -> tuple[Policies, AuditRecorder]:
    config = config_of(**keys)
    policies, faults = read_policies(config.values, config.originals)
    assert faults == []
    telemetry = AuditRecorder()
    return audited(policies, telemetry), telemetry


def test_without_a_name_there_is_none() -> None:
    policies, _ = read()
    assert (policies.create_topic, policies.alter_config) == (None, None)


@pytest.mark.spec("F11")
def test_a_rejection_names_the_policy_in_the_log_and_the_audit_trail(caplog: pytest.LogCaptureFixture) -> None:
    policies, telemetry = read(create__topic__policy__class__name=f"{HERE}.OnlySmall")
    assert policies.create_topic is not None
    policies.create_topic.validate("fits", 4, 3, None, {})
    with caplog.at_level(logging.INFO), pytest.raises(PolicyViolation, match="at most 4"):
        policies.create_topic.validate("large", 5, 3, None, {})
    assert f"{HERE}.OnlySmall rejected topic:large" in caplog.text
    [event] = telemetry.events
    assert (event.kind, event.resource, event.error) == (AuditKind.POLICY, "topic:large", "POLICY_VIOLATION")
    assert event.reason == f"{HERE}.OnlySmall: large: at most 4 partitions"


def test_configs_have_a_policy_of_their_own() -> None:
    policies, telemetry = read(alter__config__policy__class__name=f"{HERE}.NoCompaction")
    assert policies.alter_config is not None
    with pytest.raises(PolicyViolation):
        policies.alter_config.validate("TOPIC", "t", {"cleanup.policy": "compact"})
    assert [event.resource for event in telemetry.events] == ["topic:t"]


def test_a_policy_that_breaks_rejects_and_is_no_violation(caplog: pytest.LogCaptureFixture) -> None:
    policies, telemetry = read(create__topic__policy__class__name=f"{HERE}.Broken")
    assert policies.create_topic is not None
    with pytest.raises(KafkaError, match="Broken failed") as failed:
        policies.create_topic.validate("t", 1, 1, None, {})
    assert failed.value.error is Error.UNKNOWN_SERVER_ERROR
    assert "ZeroDivisionError" in caplog.text
    assert telemetry.events == []


@pytest.mark.parametrize("name", ["no.such.Policy", "NoDot", f"{HERE}.Missing", f"{HERE}.Silent"])
@pytest.mark.parametrize("key", ["create.topic.policy.class.name", "alter.config.policy.class.name"])
def test_a_name_that_is_none_rejects_the_start(key: str, name: str) -> None:
    config = config_of(**{key.replace(".", "__"): name})
    [fault] = policy_faults(config.values)
    assert (fault.key, fault.entry) == (key, name)
    assert read_policies(config.values, config.originals) == (Policies(), [fault])


def test_a_policy_that_cannot_be_made_rejects_the_start() -> None:
    config = config_of(create__topic__policy__class__name=f"{HERE}.OnlySmall", only__small__partitions="many")
    _, [fault] = read_policies(config.values, config.originals)
    assert (fault.key, fault.entry) == ("create.topic.policy.class.name", f"{HERE}.OnlySmall")
