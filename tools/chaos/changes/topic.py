"""Topics: created with configs, extended by partitions, reconfigured, deleted and created again under the same name.

The name of a deleted topic stays in use until its replicas are deleted; deleting it again succeeds (as in Kafka).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from signalbox.metadata import layout
from signalbox.metadata.entries.entity_config import decode_configs
from signalbox.metadata.entries.topic_assignment import decode_topic_assignment
from signalbox.metadata.store.port import Entry
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_partitions import CreatePartitionsRequest
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest
from signalbox.protocol.messages.describe_configs import DescribeConfigsRequest
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from tools.chaos.changes.kind import Ask
from tools.chaos.changes.model import GONE, NOT_THERE, Change, State, fact, with_facts

_PARTITIONS = "partitions"
_KEYS = ("retention.ms", "segment.bytes")  # always set to the same number: one without the other is half a change
_MOST_PARTITIONS = 4
_REPLICAS = 2  # so that topics can be created while one broker of three is down
_TIMEOUT_MS = 4_000
_RESOURCE, _OF_TOPIC = 2, 1  # Kafka's codes: resource type TOPIC, config source DYNAMIC_TOPIC_CONFIG
_SET, _DELETE = 0, 1
_MiB = 1 << 20


class Topics:
    name = "topic"
    prefix = "changed-topic-"
    roots = (layout.TOPICS, f"{layout.CONFIG}/topics", layout.DELETE_TOPICS)

    def draw(self, entity: str, state: State, random: Random) -> Change:
        partitions = int(fact(state, _PARTITIONS) or 0)
        if not partitions:
            return _creation(entity, random.randint(1, 3), _drawn_number(random))
        number = random.random()
        if number < 0.25:
            return _deletion(entity)
        if number < 0.4 and partitions < _MOST_PARTITIONS:
            return _more_partitions(entity, partitions + 1)
        return _configs(entity, None if number > 0.9 else _drawn_number(random))

    def on_response(self, entity: str, response: Any) -> Error:
        for field in ("topics", "responses", "results"):
            if rows := getattr(response, field, None):
                return Error.of(rows[0].error_code)
        return Error.UNKNOWN_SERVER_ERROR

    def stored(self, tree: Mapping[str, Entry]) -> dict[str, State]:
        facts: dict[str, dict[str, str | None]] = {}
        for path, entry in tree.items():
            root, _, name = path.rpartition("/")
            if not name.startswith(self.prefix):
                continue
            found = facts.setdefault(name, {})
            if root == layout.TOPICS:
                found[_PARTITIONS] = _stored_partitions(name, entry, tree)
            elif root == layout.DELETE_TOPICS:
                found["marked for deletion"] = ""
            else:
                found.update(decode_configs(path, entry.data))
        return {name: with_facts(NOT_THERE, found) for name, found in facts.items()}

    def described(self, ask: Ask) -> dict[str, State]:
        answer = ask(MetadataRequest(topics=None, allow_auto_topic_creation=False))
        states = {
            row.name: with_facts(NOT_THERE, {_PARTITIONS: _described_partitions(row)})
            for row in answer.topics
            if (row.name or "").startswith(self.prefix)
        }
        resources = [
            DescribeConfigsRequest.DescribeConfigsResource(resource_type=_RESOURCE, resource_name=name)
            for name in states
        ]
        for row in ask(DescribeConfigsRequest(resources=resources)).results if resources else ():
            facts = {each.name: each.value for each in row.configs if each.config_source == _OF_TOPIC}
            if row.error_code:
                facts = {"configs": Error.of(row.error_code).name}
            states[row.resource_name] = with_facts(states[row.resource_name], facts)
        return states


def _drawn_number(random: Random) -> str:
    return str(random.randint(4 * _MiB, 64 * _MiB))


def _creation(name: str, partitions: int, number: str) -> Change:
    configs = [CreateTopicsRequest.CreatableTopicConfig(name=key, value=number) for key in _KEYS]
    topic = CreateTopicsRequest.CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=_REPLICAS, configs=configs
    )
    made = with_facts(NOT_THERE, {_PARTITIONS: str(partitions), **dict.fromkeys(_KEYS, number)})

    def transitions(state: State) -> Iterable[tuple[State, Error]]:
        if fact(state, _PARTITIONS) is None:
            yield made, Error.NONE
        if state != NOT_THERE:
            yield state, Error.TOPIC_ALREADY_EXISTS

    request = CreateTopicsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS)
    return Change(f"create with {partitions} partitions and {number}", request, transitions)


def _deletion(name: str) -> Change:
    request = DeleteTopicsRequest(
        topics=[DeleteTopicsRequest.DeleteTopicState(name=name)], topic_names=[name], timeout_ms=_TIMEOUT_MS
    )

    def transitions(state: State) -> Iterable[tuple[State, Error]]:
        if state != NOT_THERE:
            yield GONE, Error.NONE
        if fact(state, _PARTITIONS) is None:
            yield state, Error.UNKNOWN_TOPIC_OR_PARTITION

    return Change("delete", request, transitions)


def _more_partitions(name: str, count: int) -> Change:
    topic = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=count, assignments=None)

    def transitions(state: State) -> Iterable[tuple[State, Error]]:
        if fact(state, _PARTITIONS) is None:
            yield state, Error.UNKNOWN_TOPIC_OR_PARTITION
        elif int(fact(state, _PARTITIONS) or 0) < count:
            yield with_facts(state, {_PARTITIONS: str(count)}), Error.NONE
        else:
            yield state, Error.INVALID_PARTITIONS

    request = CreatePartitionsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS)
    return Change(f"raise to {count} partitions", request, transitions)


def _configs(name: str, number: str | None) -> Change:
    operation = _DELETE if number is None else _SET
    rows = [
        IncrementalAlterConfigsRequest.AlterableConfig(name=key, config_operation=operation, value=number)
        for key in _KEYS
    ]
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=_RESOURCE, resource_name=name, configs=rows
    )

    def transitions(state: State) -> Iterable[tuple[State, Error]]:
        if fact(state, _PARTITIONS) is None:
            yield state, Error.UNKNOWN_TOPIC_OR_PARTITION
        else:
            yield with_facts(state, dict.fromkeys(_KEYS, number)), Error.NONE

    return Change(f"set configs to {number}", IncrementalAlterConfigsRequest(resources=[resource]), transitions)


def _stored_partitions(name: str, entry: Entry, tree: Mapping[str, Entry]) -> str:
    assigned = set(decode_topic_assignment(name, entry.data).replicas)
    below = layout.partitions_path(name) + "/"
    with_state = {
        int(path.removeprefix(below).partition("/")[0])
        for path in tree
        if path.startswith(below) and path.endswith("/state")
    }
    return str(len(assigned)) if assigned == with_state else f"{sorted(assigned)} with states {sorted(with_state)}"


def _described_partitions(row: Any) -> str:
    faults = [each for each in (row, *row.partitions) if each.error_code]
    return str(len(row.partitions)) if not faults else "/".join(Error.of(each.error_code).name for each in faults)
