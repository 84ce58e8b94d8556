"""`/kafka-acl/<Type>/<name>` and `/kafka-acl-extended/prefixed/<Type>/<name>`: the ACLs on one resource pattern, and
their change notifications, in the payloads of Kafka's AclAuthorizer.

The notification of a literal pattern is text, that of a prefixed pattern is JSON. Prefixed patterns came later
(KIP-290) and have roots of their own, so that older brokers do not read a prefix as a name.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import TypeVar

from signalbox.metadata.entries.json_text import BadEntry, decode_json, encode_json
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
    """`TransactionalId` for TRANSACTIONAL_ID: the spelling of types and operations in Kafka's payloads and folders."""
    return "".join(word.capitalize() for word in code.name.split("_"))


def acl_path(pattern: ResourcePattern) -> str:
    """The path of the entry with the ACLs of a pattern."""
    return f"{ROOT_OF[pattern.pattern_type]}/{pascal_case(pattern.resource_type)}/{pattern.name}"


def pattern_of(path: str) -> ResourcePattern | None:
    """The pattern whose ACLs are stored at `path`; None for a folder and for an unknown resource type."""
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
    """The ACLs of an entry without duplicates; an entry without data has none. BadEntry."""
    if not data:
        return ()
    acls = decode_json(data, path).get("acls")
    if not isinstance(acls, list):
        raise BadEntry(f"{path} holds no ACLs")
    return tuple(dict.fromkeys(_entry(path, acl) for acl in acls))


def change_path_and_data(pattern: ResourcePattern) -> tuple[str, bytes]:
    """The change notification of a pattern: the path prefix, to which the store adds a number, and the payload."""
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
    """The pattern in `TOPIC:flights`; names may contain colons. BadEntry."""
    try:
        type_name, colon, name = (data or b"").decode().partition(":")
        if colon:
            return ResourcePattern(ResourceType[type_name], name)
    except (UnicodeDecodeError, KeyError):
        pass
    raise BadEntry(f"{path} names no resource")


def decode_extended_change(path: str, data: bytes | None) -> ResourcePattern:
    """The pattern in a JSON payload; BadEntry."""
    payload = decode_json(data, path)
    try:
        pattern_type = PatternType[payload["patternType"]]
        if pattern_type in ROOT_OF:
            return ResourcePattern(ResourceType[payload["resourceType"]], str(payload["name"]), pattern_type)
    except (KeyError, TypeError):
        pass
    raise BadEntry(f"{path} names no resource")


def _entry(path: str, acl: object) -> AccessControlEntry:
    """An operation or permission with an unknown name (of a newer Kafka) becomes UNKNOWN: the ACL matches no request,
    and the other ACLs of the resource stay in effect."""
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

# Must exist before an ACL is written. In Kafka the authorizer creates these folders, not the broker.
ACL_FOLDERS: tuple[str, ...] = (
    ACLS,
    *(f"{ACLS}/{name}" for name in _RESOURCE_TYPES),
    EXTENDED_ACLS,
    PREFIXED_ACLS,
    *(f"{PREFIXED_ACLS}/{name}" for name in _RESOURCE_TYPES),
    ACL_CHANGES,
    EXTENDED_ACL_CHANGES,
)
