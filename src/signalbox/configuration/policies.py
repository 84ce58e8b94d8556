"""Policies by import path (`create.topic.policy.class.name`, `alter.config.policy.class.name`; KIP-108, KIP-133, F11).

A policy is a class that takes the configuration and has the `validate` of its port (`controller/ports.py`). Only the
active controller calls it, for internal topics too. The name of the policy that rejects a request is written to the log
and to the audit trail, since a client of an old version receives only an error code.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from signalbox.common.audit_event import AuditEvent, AuditKind, AuditSink
from signalbox.common.config.config_table import ConfigFault, Value
from signalbox.common.log_limiter import CLIENT_CAUSED
from signalbox.controller.ports import AlterConfigPolicy, CreateTopicPolicy, PolicyViolation
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.security.class_loading import load_class

log = logging.getLogger(__name__)

_KEYS = _CREATE_TOPIC, _ALTER_CONFIG = "create.topic.policy.class.name", "alter.config.policy.class.name"


@dataclass(frozen=True, slots=True)
class Policies:
    """A policy that the configuration does not name is None."""

    create_topic: CreateTopicPolicy | None = None
    alter_config: AlterConfigPolicy | None = None


def read_policies(values: Mapping[str, Value], originals: Mapping[str, str]) -> tuple[Policies, list[ConfigFault]]:
    """Returns the policies and their faults. `originals` is the configuration's text, which each policy's constructor
    receives."""
    faults = policy_faults(values)
    policies: dict[str, Any] = {}
    for key in () if faults else _KEYS:
        if name := str(values[key] or ""):
            try:
                policies[key] = load_class(name)(originals)
            except Exception as error:  # the policy's constructor may raise anything
                faults.append(_fault(key, name, error))
    return Policies(policies.get(_CREATE_TOPIC), policies.get(_ALTER_CONFIG)), faults


def policy_faults(values: Mapping[str, Value]) -> list[ConfigFault]:
    """Returns the faults that show before a policy is made: the class is imported, not called."""
    faults = []
    for key in _KEYS:
        if name := str(values[key] or ""):
            try:
                if not callable(getattr(load_class(name), "validate", None)):
                    raise TypeError("it has no method validate")
            except Exception as error:  # the import runs a user's module: it may raise anything
                faults.append(_fault(key, name, error))
    return faults


def _fault(key: str, name: str, error: Exception) -> ConfigFault:
    remedy = "Name a class that takes the configuration and has a method validate"
    return ConfigFault(key, name, f"cannot be made: {error!r}", remedy)


class AuditedCreateTopicPolicy:
    """Records the rejections of a policy in the log and in the audit trail."""

    def __init__(self, policy: CreateTopicPolicy, audit: AuditSink) -> None:
        self._policy = policy
        self._audit = audit

    def validate(
        self,
        topic: str,
        num_partitions: int | None,
        replication_factor: int | None,
        assignments: Mapping[int, Sequence[int]] | None,
        configs: Mapping[str, str],
    ) -> None:
        """Calls the policy; any error but PolicyViolation is returned as UNKNOWN_SERVER_ERROR."""
        arguments = (topic, num_partitions, replication_factor, assignments, configs)
        _ask(self._policy, self._audit, f"topic:{topic}", lambda: self._policy.validate(*arguments))


class AuditedAlterConfigPolicy:
    """Records the rejections of a policy in the log and in the audit trail."""

    def __init__(self, policy: AlterConfigPolicy, audit: AuditSink) -> None:
        self._policy = policy
        self._audit = audit

    def validate(self, resource_type: str, resource_name: str, configs: Mapping[str, str]) -> None:
        """Calls the policy; any error but PolicyViolation is returned as UNKNOWN_SERVER_ERROR."""
        resource = f"{resource_type.lower()}:{resource_name}"
        _ask(self._policy, self._audit, resource, lambda: self._policy.validate(resource_type, resource_name, configs))


def audited(policies: Policies, audit: AuditSink) -> Policies:
    """Returns the same policies, with their rejections recorded in the log and in the audit trail."""
    create, alter = policies.create_topic, policies.alter_config
    return Policies(
        AuditedCreateTopicPolicy(create, audit) if create is not None else None,
        AuditedAlterConfigPolicy(alter, audit) if alter is not None else None,
    )


def _ask(policy: object, audit: AuditSink, resource: str, validate: Callable[[], None]) -> None:
    name = f"{type(policy).__module__}.{type(policy).__qualname__}"
    try:
        validate()
    except PolicyViolation as violation:
        log.info("Policy %s rejected %s: %s", name, resource, violation)
        audit.record(
            AuditEvent(
                kind=AuditKind.POLICY,
                resource=resource,
                error=Error.POLICY_VIOLATION.name,
                reason=f"{name}: {violation}",
            )
        )
        raise
    except Exception as error:
        log.exception("Policy %s failed on %s", name, resource, extra=CLIENT_CAUSED)
        raise KafkaError(Error.UNKNOWN_SERVER_ERROR, f"the policy {name} failed") from error
