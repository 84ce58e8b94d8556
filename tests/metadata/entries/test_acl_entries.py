"""ACL entries of the store are byte for byte the same as Kafka's (SPEC M2)."""

from __future__ import annotations

import pytest

from signalbox.metadata.entries.acl_entries import (
    ACL_FOLDERS,
    acl_path,
    change_path_and_data,
    decode_acls,
    decode_extended_change,
    decode_literal_change,
    encode_acls,
    pattern_of,
)
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.security.acl import (
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)

FLIGHTS = ResourcePattern(ResourceType.TOPIC, "flights")
PAY = ResourcePattern(ResourceType.TRANSACTIONAL_ID, "pay-", PatternType.PREFIXED)
READ = AccessControlEntry("User:alice", "*", AclOperation.READ, AclPermission.ALLOW)
ALTER = AccessControlEntry("User:bob", "10.0.0.1", AclOperation.ALTER_CONFIGS, AclPermission.DENY)
JSON = (
    b'{"version":1,"acls":['
    b'{"principal":"User:alice","permissionType":"Allow","operation":"Read","host":"*"},'
    b'{"principal":"User:bob","permissionType":"Deny","operation":"AlterConfigs","host":"10.0.0.1"}]}'
)


@pytest.mark.spec("M2")
@pytest.mark.parametrize(
    ("pattern", "path", "change", "notification"),
    [
        (FLIGHTS, "/kafka-acl/Topic/flights", "/kafka-acl-changes/acl_changes_", b"TOPIC:flights"),
        (
            PAY,
            "/kafka-acl-extended/prefixed/TransactionalId/pay-",
            "/kafka-acl-extended-changes/acl_changes_",
            b'{"version":1,"resourceType":"TRANSACTIONAL_ID","name":"pay-","patternType":"PREFIXED"}',
        ),
    ],
)
def test_paths_and_notification_of_a_pattern(
    pattern: ResourcePattern, path: str, change: str, notification: bytes
) -> None:
    assert acl_path(pattern) == path
    assert pattern_of(path) == pattern
    assert path.rpartition("/")[0] in ACL_FOLDERS
    assert change_path_and_data(pattern) == (change, notification)
    decode = decode_literal_change if pattern is FLIGHTS else decode_extended_change
    assert decode("p", notification) == pattern


@pytest.mark.parametrize("path", ["/kafka-acl", "/kafka-acl/Topic", "/kafka-acl/Star/x", "/config/topics/t"])
def test_folders_and_other_entries_are_no_patterns(path: str) -> None:
    assert pattern_of(path) is None


@pytest.mark.spec("M2")
def test_the_payload() -> None:
    assert encode_acls([READ, ALTER]) == JSON
    assert decode_acls("p", JSON) == (READ, ALTER)
    assert decode_acls("p", encode_acls([READ, READ])) == (READ,)
    assert decode_acls("p", None) == decode_acls("p", b"") == ()


def test_an_unknown_operation_leaves_the_other_acls_in_effect() -> None:
    entries = decode_acls("p", JSON.replace(b'"Read"', b'"Levitate"'))
    assert [entry.operation for entry in entries] == [AclOperation.UNKNOWN, AclOperation.ALTER_CONFIGS]


@pytest.mark.parametrize("data", [b"?", b"[]", b"{}", b'{"acls":[7]}', b'{"acls":[{"principal":"User:a"}]}'])
def test_a_payload_that_is_none(data: bytes) -> None:
    with pytest.raises(BadEntry, match="here"):
        decode_acls("here", data)


@pytest.mark.parametrize("data", [None, b"", b"TOPIC", b"STAR:x", b"\xff:x"])
def test_corrupt_literal_notifications_are_rejected(data: bytes | None) -> None:
    with pytest.raises(BadEntry):
        decode_literal_change("p", data)


@pytest.mark.parametrize(
    "data",
    [
        b"TOPIC:x",
        b'{"resourceType":"TOPIC","name":"x"}',
        b'{"resourceType":"TOPIC","name":"x","patternType":"MATCH"}',
        b'{"resourceType":[],"name":"x","patternType":"PREFIXED"}',
    ],
)
def test_corrupt_extended_notifications_are_rejected(data: bytes) -> None:
    with pytest.raises(BadEntry):
        decode_extended_change("p", data)


def test_names_in_literal_notifications_may_hold_colons() -> None:
    assert decode_literal_change("p", b"GROUP:a:b").name == "a:b"
