"""ACLs of one topic name each: added two at a time, removed by filter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from signalbox.metadata import layout
from signalbox.metadata.entries.acl_entries import decode_acls, pattern_of
from signalbox.metadata.store.port import Entry
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_acls import CreateAclsRequest
from signalbox.protocol.messages.delete_acls import DeleteAclsRequest
from signalbox.protocol.messages.describe_acls import DescribeAclsRequest
from signalbox.security.acl import AclOperation, AclPermission, PatternType, ResourceType
from tools.chaos.changes.kind import Ask
from tools.chaos.changes.model import NOT_THERE, Change, State, with_facts

_ANY = 1  # Kafka's code in every field of a filter
_OPERATIONS = (AclOperation.READ, AclOperation.WRITE)  # always together: one without the other is half a change
_USERS = 4


class Acls:
    name = "acl"
    prefix = "guarded-"
    roots = (layout.ACLS,)

    def draw(self, entity: str, state: State, random: Random) -> Change:
        there = sorted({name.partition(" ")[0] for name, _ in state})
        if there and random.random() < 0.45:
            return _removal(entity, random.choice(there))
        return _addition(entity, f"User:user-{random.randrange(_USERS)}")

    def on_response(self, entity: str, response: Any) -> Error:
        rows = getattr(response, "results", None) or getattr(response, "filter_results", None) or ()
        codes = [row.error_code for row in rows]
        return Error.of(max(codes, key=abs)) if codes else Error.UNKNOWN_SERVER_ERROR

    def stored(self, tree: Mapping[str, Entry]) -> dict[str, State]:
        states = {}
        for path, entry in tree.items():
            pattern = pattern_of(path)
            if pattern is not None and pattern.name.startswith(self.prefix):
                rows = decode_acls(path, entry.data)
                states[pattern.name] = _state((row.principal, row.operation) for row in rows)
        return states

    def described(self, ask: Ask) -> dict[str, State]:
        everything = DescribeAclsRequest(
            resource_type_filter=ResourceType.TOPIC, pattern_type_filter=PatternType.ANY, operation=_ANY,
            permission_type=_ANY, resource_name_filter=None, principal_filter=None, host_filter=None,
        )  # fmt: skip
        answer = ask(everything)
        if answer.error_code:
            raise ConnectionError(f"DescribeAcls was answered {Error.of(answer.error_code).name}")
        return {
            row.resource_name: _state((acl.principal, AclOperation(acl.operation)) for acl in row.acls)
            for row in answer.resources
            if row.resource_name.startswith(self.prefix)
        }


def _state(rows: Iterable[tuple[str, AclOperation]]) -> State:
    return frozenset((f"{principal} {operation.name}", "") for principal, operation in rows)


def _facts(user: str, value: str | None) -> dict[str, str | None]:
    return {f"{user} {operation.name}": value for operation in _OPERATIONS}


def _addition(name: str, user: str) -> Change:
    creations = [
        CreateAclsRequest.AclCreation(
            resource_type=ResourceType.TOPIC, resource_name=name, resource_pattern_type=PatternType.LITERAL,
            principal=user, host="*", operation=operation, permission_type=AclPermission.ALLOW,
        )
        for operation in _OPERATIONS
    ]  # fmt: skip

    def transitions(state: State) -> Iterable[tuple[State, Error]]:
        yield with_facts(state, _facts(user, "")), Error.NONE

    return Change(f"let {user} read and write", CreateAclsRequest(creations=creations), transitions)


def _removal(name: str, user: str) -> Change:
    wanted = DeleteAclsRequest.DeleteAclsFilter(
        resource_type_filter=ResourceType.TOPIC, resource_name_filter=name, pattern_type_filter=PatternType.LITERAL,
        principal_filter=user, host_filter=None, operation=_ANY, permission_type=_ANY,
    )  # fmt: skip

    def transitions(state: State) -> Iterable[tuple[State, Error]]:
        yield with_facts(state, _facts(user, None)) or NOT_THERE, Error.NONE

    return Change(f"take {user} its rights", DeleteAclsRequest(filters=[wanted]), transitions)
