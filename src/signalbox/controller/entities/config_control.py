"""AlterConfigs and IncrementalAlterConfigs as decisions: topics, one broker, all brokers (KIP-339).

AlterConfigs replaces all configs of a resource; the incremental form changes single ones: SET, DELETE, and for
lists APPEND and SUBTRACT. Each resource has its own error. Nothing is stored when nothing changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from signalbox.common.cooperative_task import yielding
from signalbox.controller.brokers.listener_change import LISTENER_KEYS, reject_listeners
from signalbox.controller.context import BROKER_DEFAULT_ENTITY, UNCLEAN_KEY, ControllerContext
from signalbox.controller.decision import Decision, Effect, Inputs, LeadersAnnounced
from signalbox.controller.entities.config_resource import Resource, find_resource
from signalbox.controller.partitions.partition_control import bring_online
from signalbox.controller.ports import PolicyViolation
from signalbox.controller.records import ConfigsSet, Record
from signalbox.metadata.entries.entity_config import Configs
from signalbox.protocol.config_resource import AlterConfigOp
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from signalbox.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


@dataclass(frozen=True, slots=True)
class _ResourceResult:
    resource_type: int
    resource_name: str
    error: Error
    message: str | None


_Key = tuple[int, str]
Change = Callable[[Resource], Configs]


def alter_configs(context: ControllerContext, inputs: Inputs, request: AlterConfigsRequest) -> Decision:
    """Replace the configs of each resource. Yields."""
    changes = [
        ((each.resource_type, each.resource_name), replacement(each.configs)) for each in yielding(request.resources)
    ]
    results, decision = _decide(context, inputs, changes, request.validate_only)
    responses = [
        AlterConfigsResponse.AlterConfigsResourceResponse(
            error_code=each.error,
            error_message=each.message,
            resource_type=each.resource_type,
            resource_name=each.resource_name,
        )
        for each in results
    ]
    return replace(decision, response=AlterConfigsResponse(responses=responses))


def incremental_alter_configs(
    context: ControllerContext, inputs: Inputs, request: IncrementalAlterConfigsRequest
) -> Decision:
    """Change single configs of each resource. Yields."""
    changes = [
        ((each.resource_type, each.resource_name), increments(each.configs)) for each in yielding(request.resources)
    ]
    results, decision = _decide(context, inputs, changes, request.validate_only)
    responses = [
        IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
            error_code=each.error,
            error_message=each.message,
            resource_type=each.resource_type,
            resource_name=each.resource_name,
        )
        for each in results
    ]
    return replace(decision, response=IncrementalAlterConfigsResponse(responses=responses))


def _decide(
    context: ControllerContext, inputs: Inputs, changes: Sequence[tuple[_Key, Change]], validate_only: bool
) -> tuple[list[_ResourceResult], Decision]:
    """Yields."""
    named = Counter(key for key, _ in changes)
    results: dict[_Key, _ResourceResult] = {}
    records: list[ConfigsSet] = []
    for key, change in changes:
        if key in results:
            continue
        try:
            if named[key] > 1:
                raise KafkaError(Error.INVALID_REQUEST, "Each resource must appear at most once.")
            resource = find_resource(context, inputs, *key)
            configs = change(resource)
            resource.reject(configs)
            _reject_listeners(context, resource, configs)
            _ask_policy(inputs, resource, configs)
        except KafkaError as rejection:
            results[key] = _ResourceResult(*key, rejection.error, rejection.message)
            continue
        results[key] = _ResourceResult(*key, Error.NONE, None)
        # A broker whose keys are set to the same values reads its key files again (KIP-226): it must be notified.
        if configs != resource.configs or (resource.is_broker and configs):
            records.append(ConfigsSet(resource.entity_path, configs))
    if validate_only or not records:
        return list(results.values()), Decision()
    elections, effects = elections_allowed_now(context, inputs, records)
    return list(results.values()), Decision(records=(*records, *elections), effects=effects)


def replacement(
    configs: Iterable[AlterConfigsRequest.AlterableConfig],
) -> Change:
    """The change of AlterConfigs: these configs replace all others of a resource."""

    def change(resource: Resource) -> Configs:
        given = list(configs)
        _reject_repeated([each.name for each in given])
        missing = sorted(each.name for each in given if each.value is None)
        if missing:
            raise KafkaError(Error.INVALID_REQUEST, f"Null value not supported for : {','.join(missing)}")
        return {each.name: each.value or "" for each in given}

    return change


def increments(
    configs: Iterable[IncrementalAlterConfigsRequest.AlterableConfig],
) -> Change:
    """The change of IncrementalAlterConfigs to a resource's configs."""

    def change(resource: Resource) -> Configs:
        given = list(configs)
        _reject_repeated([each.name for each in given])
        missing = sorted(
            each.name for each in given if each.value is None and each.config_operation != AlterConfigOp.DELETE
        )
        if missing:
            raise KafkaError(Error.INVALID_REQUEST, f"Null value not supported for : {','.join(missing)}")
        after = dict(resource.configs)
        for each in given:
            operation = _OPERATIONS.get(each.config_operation)
            if operation is None:
                raise KafkaError(Error.INVALID_REQUEST, f"Unknown config operation {each.config_operation}.")
            operation(resource, after, each.name, each.value or "")
        return after

    return change


def _set(resource: Resource, configs: Configs, name: str, value: str) -> None:
    configs[name] = value


def _delete(resource: Resource, configs: Configs, name: str, value: str) -> None:
    configs.pop(name, None)


def _append(resource: Resource, configs: Configs, name: str, value: str) -> None:
    present = _list_of(resource, configs, name, "append")
    configs[name] = ",".join([*present, *(piece for piece in _pieces(value) if piece not in present)])


def _subtract(resource: Resource, configs: Configs, name: str, value: str) -> None:
    taken = _pieces(value)
    configs[name] = ",".join(piece for piece in _list_of(resource, configs, name, "subtract") if piece not in taken)


_OPERATIONS: dict[int, Callable[[Resource, Configs, str, str], None]] = {
    AlterConfigOp.SET: _set,
    AlterConfigOp.DELETE: _delete,
    AlterConfigOp.APPEND: _append,
    AlterConfigOp.SUBTRACT: _subtract,
}


def _list_of(resource: Resource, configs: Configs, name: str, verb: str) -> list[str]:
    if not resource.is_list(name):
        raise KafkaError(Error.INVALID_CONFIG, f"Config value {verb} is not allowed for config key: {name}")
    return _pieces(configs[name]) if name in configs else resource.default_list(name)


def _pieces(value: str) -> list[str]:
    return [piece.strip() for piece in value.split(",") if piece.strip()]


def _reject_repeated(names: Sequence[str]) -> None:
    repeated = sorted(name for name, times in Counter(names).items() if times > 1)
    if repeated:
        raise KafkaError(Error.INVALID_REQUEST, f"Error due to duplicate config keys : {','.join(repeated)}")


def _reject_listeners(context: ControllerContext, resource: Resource, configs: Configs) -> None:
    if not resource.is_broker or not resource.name:
        return
    if any(configs.get(key) != resource.configs.get(key) for key in LISTENER_KEYS):
        reject_listeners(context, int(resource.name), configs)


def _ask_policy(inputs: Inputs, resource: Resource, configs: Configs) -> None:
    if inputs.alter_config_policy is None:
        return
    try:
        inputs.alter_config_policy.validate(resource.type.name, resource.name, configs)
    except PolicyViolation as violation:
        raise KafkaError(Error.POLICY_VIOLATION, str(violation)) from violation


def elections_allowed_now(
    context: ControllerContext, inputs: Inputs, records: Sequence[ConfigsSet]
) -> tuple[list[Record], tuple[Effect, ...]]:
    """Elections for partitions without a leader, if an unclean election has just become allowed for their topic.
    Yields."""
    now_set = {record.entity_path for record in records if _allows_unclean(record)}
    everywhere = not now_set.isdisjoint((BROKER_DEFAULT_ENTITY, f"brokers/{context.controller_id}"))
    after = replace(context, configs={**context.configs, **{each.entity_path: each.configs for each in records}})
    partitions = [
        partition
        for partition in context.partitions()
        if (everywhere or f"topics/{partition.topic}" in now_set)
        and after.allows_unclean_election(partition.topic, by_default=False)
    ]
    created, changed = bring_online(context, partitions, lambda topic: True)
    effects = (
        LeadersAnnounced(tuple(each.partition for each in created), is_new=True),
        LeadersAnnounced(tuple(each.partition for each in changed)),
    )
    return [*created, *changed], effects


def _allows_unclean(record: ConfigsSet) -> bool:
    return record.configs.get(UNCLEAN_KEY, "").strip().lower() == "true"
