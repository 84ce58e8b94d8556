"""`/kafka-acl/<Type>/<name>` and `/kafka-acl-extended/prefixed/<Type>/<name>`: the ACLs on one resource pattern, and
the news that they changed, in the payloads of Kafka's AclAuthorizer.

Literal patterns are announced as text, prefixed ones as JSON: the latter came later (KIP-290) under roots of their own,
so that brokers from before do not take a prefix for a name.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import TypeVar

from signalbox.metadata.json_text import BadEntry, decode_json, encode_json
from signalbox.metadata.layout import (
    ACL_CHANGE_PREFIX,
    ACL_CHANGES,
    ACLS,
    EXTENDED_ACL_CHANGE_PREFIX,
    EXTENDED_ACL_CHANGES,
    EXTENDED_ACLS,
    PREFIXED_ACLS,
)
from signalbox.security.acl import (
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)

Entries = tuple[AccessControlEntry, ...]
Code = TypeVar("Code", bound=IntEnum)

ROOT_OF: dict[PatternType, str] = {PatternType.LITERAL: ACLS, PatternType.PREFIXED: PREFIXED_ACLS}


def pascal_case(code: IntEnum) -> str:
    """`TransactionalId` of TRANSACTIONAL_ID: how Kafka's payloads and folders spell types and operations."""
    return "".join(word.capitalize() for word in code.name.split("_"))


def acl_path(pattern: ResourcePattern) -> str:
    """Where the ACLs of a pattern stand."""
    return f"{ROOT_OF[pattern.pattern_type]}/{pascal_case(pattern.resource_type)}/{pattern.name}"


def pattern_of(path: str) -> ResourcePattern | None:
    """The pattern whose ACLs stand at `path`; None for a folder and for a type that is not known here."""
    for pattern_type, root in ROOT_OF.items():
        if path.startswith(root + "/"):
            type_name, _, name = path.removeprefix(root + "/").partition("/")
            resource_type = _RESOURCE_TYPES.get(type_name)
            if resource_type is not None and name:
                return ResourcePattern(resource_type, name, pattern_type)
    return None


def encode_acls(entries: Iterable[AccessControlEntry]) -> bytes:
    """The JSON payload, version 1."""
    acls = [
        {
            "principal": entry.principal,
            "permissionType": pascal_case(entry.permission),
            "operation": pascal_case(entry.operation),
            "host": entry.host,
        }
        for entry in entries
    ]
    return encode_json({"version": 1, "acls": acls})


def decode_acls(path: str, data: bytes | None) -> Entries:
    """The entries, each once; BadEntry. An entry without data has none."""
    if not data:
        return ()
    acls = decode_json(data, path).get("acls")
    if not isinstance(acls, list):
        raise BadEntry(f"{path} holds no ACLs")
    return tuple(dict.fromkeys(_entry(path, acl) for acl in acls))


def change_path_and_data(pattern: ResourcePattern) -> tuple[str, bytes]:
    """The news that the ACLs of a pattern changed: the path to number, and the payload."""
    if pattern.pattern_type is PatternType.LITERAL:
        return ACL_CHANGE_PREFIX, f"{pattern.resource_type.name}:{pattern.name}".encode()
    return EXTENDED_ACL_CHANGE_PREFIX, encode_json(
        {
            "version": 1,
            "resourceType": pattern.resource_type.name,
            "name": pattern.name,
            "patternType": pattern.pattern_type.name,
        }
    )


def decode_literal_change(path: str, data: bytes | None) -> ResourcePattern:
    """A pattern out of `TOPIC:flights`; BadEntry. Names may hold colons."""
    try:
        type_name, colon, name = (data or b"").decode().partition(":")
        if colon:
            return ResourcePattern(ResourceType[type_name], name)
    except (UnicodeDecodeError, KeyError):
        pass
    raise BadEntry(f"{path} names no resource")


def decode_extended_change(path: str, data: bytes | None) -> ResourcePattern:
    """A pattern out of its JSON; BadEntry."""
    payload = decode_json(data, path)
    try:
        pattern_type = PatternType[payload["patternType"]]
        if pattern_type in ROOT_OF:
            return ResourcePattern(ResourceType[payload["resourceType"]], str(payload["name"]), pattern_type)
    except (KeyError, TypeError):
        pass
    raise BadEntry(f"{path} names no resource")


def _entry(path: str, acl: object) -> AccessControlEntry:
    """What a newer Kafka calls by a name that is not known here stays UNKNOWN: it matches no request, and the other
    ACLs of the resource keep their effect."""
    if not isinstance(acl, dict) or not {"principal", "host", "operation", "permissionType"} <= acl.keys():
        raise BadEntry(f"{path} holds an ACL that lacks principal, host, operation or permissionType")
    return AccessControlEntry(
        str(acl["principal"]),
        str(acl["host"]),
        _OPERATIONS.get(str(acl["operation"]), AclOperation.UNKNOWN),
        _PERMISSIONS.get(str(acl["permissionType"]), AclPermission.UNKNOWN),
    )


def _by_name(codes: type[Code]) -> dict[str, Code]:
    return {pascal_case(code): code for code in codes if code.name not in ("UNKNOWN", "ANY")}


_RESOURCE_TYPES = _by_name(ResourceType)
_OPERATIONS = _by_name(AclOperation)
_PERMISSIONS = _by_name(AclPermission)

# What must exist before an ACL is written; Kafka's authorizer makes it, not the broker.
ACL_FOLDERS: tuple[str, ...] = (
    ACLS,
    *(f"{ACLS}/{name}" for name in _RESOURCE_TYPES),
    EXTENDED_ACLS,
    PREFIXED_ACLS,
    *(f"{PREFIXED_ACLS}/{name}" for name in _RESOURCE_TYPES),
    ACL_CHANGES,
    EXTENDED_ACL_CHANGES,
)
