"""CreateAcls and DeleteAcls (KIP-140, KIP-290), as transcripts."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.controller.context import StoredAcls
from signalbox.controller.decision import Decision
from signalbox.controller.entities.acl_control import create_acls, delete_acls
from signalbox.controller.records import AclsSet
from signalbox.metadata.store.port import MAX_ENTRY_BYTES
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from signalbox.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from signalbox.security.acl import (
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from tests.controller.cluster import inputs
from tests.controller.contexts import make_context

T = ResourcePattern(ResourceType.TOPIC, "t")
P = ResourcePattern(ResourceType.TOPIC, "t", PatternType.PREFIXED)
A = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)
B = AccessControlEntry("User:b", "*", AclOperation.WRITE, AclPermission.DENY)
CONTEXT = make_context(1, acls={T: StoredAcls((A, B), 4), P: StoredAcls((A,), 0)})
ANY: dict[str, Any] = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


def creation(pattern: ResourcePattern = T, entry: AccessControlEntry = A, **wrong: Any) -> Any:
    fields = {
        "resource_type": pattern.resource_type,
        "resource_name": pattern.name,
        "resource_pattern_type": pattern.pattern_type,
        "principal": entry.principal,
        "host": entry.host,
        "operation": entry.operation,
        "permission_type": entry.permission,
    }
    return CreateAclsRequest.AclCreation(**{**fields, **wrong})


def create(*creations: Any) -> tuple[Decision, list[int]]:
    decision = create_acls(CONTEXT, inputs(), CreateAclsRequest(creations=list(creations)))
    assert isinstance(decision.response, CreateAclsResponse)
    return decision, [result.error_code for result in decision.response.results]


def delete(*filters: dict[str, Any]) -> tuple[Decision, Any]:
    request = DeleteAclsRequest(filters=[DeleteAclsRequest.DeleteAclsFilter(**{**ANY, **each}) for each in filters])
    decision = delete_acls(CONTEXT, inputs(), request)
    assert isinstance(decision.response, DeleteAclsResponse)
    return decision, decision.response.filter_results


def test_new_acls_are_written_with_those_of_their_pattern() -> None:
    other = ResourcePattern(ResourceType.GROUP, "g")
    new = AccessControlEntry("User:c", "10.0.0.1", AclOperation.ALL, AclPermission.ALLOW)
    decision, codes = create(creation(T, new), creation(other, A), creation(other, new), creation(other, A))
    assert codes == [0, 0, 0, 0]
    assert decision.records == (AclsSet(T, (A, B, new)), AclsSet(other, (A, new)))


def test_what_is_there_already_is_a_success_without_a_record() -> None:
    decision, codes = create(creation(T, A), creation(P, A))
    assert (decision.records, codes) == ((), [0, 0])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"resource_type": 4, "resource_name": "t"}, "kafka-cluster"),
        ({"resource_type": 4, "resource_name": "*"}, "kafka-cluster"),
        ({"resource_name": ""}, "empty resource name"),
        ({"resource_type": 0}, "resource type UNKNOWN"),
        ({"resource_type": 1}, "resource type ANY"),
        ({"resource_type": 99}, "resource type UNKNOWN"),
        ({"resource_pattern_type": 0}, "pattern type UNKNOWN"),
        ({"resource_pattern_type": 1}, "pattern type ANY"),
        ({"resource_pattern_type": 2}, "pattern type MATCH"),
        ({"operation": 1}, "operation ANY"),
        ({"operation": 99}, "operation UNKNOWN"),
        ({"permission_type": 1}, "permission type ANY"),
        ({"permission_type": 0}, "permission type UNKNOWN"),
        ({"resource_name": "a/b"}, "'a/b'"),
        ({"resource_name": ".."}, "'..'"),
        ({"resource_name": "a\0"}, "no name"),
        ({"resource_name": "a\x85"}, "no name"),
        ({"principal": "alice"}, "'alice' is not of the form Type:name"),
    ],
)
def test_an_acl_that_cannot_be_fails_alone(wrong: dict[str, Any], says: str) -> None:
    new = ResourcePattern(ResourceType.TOPIC, "new")
    decision, codes = create(creation(**wrong), creation(new, A))
    assert codes == [Error.INVALID_REQUEST, 0]
    assert isinstance(decision.response, CreateAclsResponse)
    assert says in (decision.response.results[0].error_message or "")
    assert decision.records == (AclsSet(new, (A,)),)


def test_the_cluster_by_its_one_name() -> None:
    cluster = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster")
    decision, codes = create(creation(cluster, A))
    assert (decision.records, codes) == ((AclsSet(cluster, (A,)),), [0])


def test_more_than_one_entry_of_the_store_can_hold() -> None:
    long = "User:" + "x" * (MAX_ENTRY_BYTES // 2)
    entries = [AccessControlEntry(long + end, "*", A.operation, A.permission) for end in "ab"]
    decision, codes = create(creation(T, entries[0]), creation(P, entries[0]), creation(P, entries[1]))
    assert codes == [0, Error.INVALID_REQUEST, Error.INVALID_REQUEST]
    assert [record.pattern for record in decision.records if isinstance(record, AclsSet)] == [T]


def test_deleting_what_a_filter_means() -> None:
    decision, [result] = delete({"principal_filter": "User:a"})
    assert decision.records == (AclsSet(T, (B,)), AclsSet(P, ()))
    found = [(acl.resource_name, acl.pattern_type, acl.principal, acl.operation) for acl in result.matching_acls]
    assert found == [("t", PatternType.LITERAL, "User:a", 3), ("t", PatternType.PREFIXED, "User:a", 3)]


def test_an_acl_is_returned_under_the_first_filter_that_matches_it() -> None:
    literal = {"resource_type_filter": 2, "resource_name_filter": "t", "pattern_type_filter": 3}
    decision, results = delete({"permission_type": 2}, literal, {"principal_filter": "User:unknown"}, {})
    assert [[acl.principal for acl in result.matching_acls] for result in results] == [
        ["User:b"],
        ["User:a"],
        [],
        ["User:a"],
    ]
    assert decision.records == (AclsSet(T, ()), AclsSet(P, ()))


def test_a_filter_that_means_nothing_fails_alone() -> None:
    decision, results = delete({"operation": 99}, {"pattern_type_filter": 0}, {"principal_filter": "User:b"})
    assert [result.error_code for result in results] == [Error.INVALID_REQUEST, Error.INVALID_REQUEST, 0]
    assert decision.records == (AclsSet(T, (A,)),)


def test_no_match_no_record() -> None:
    decision, [result] = delete({"resource_type_filter": 2, "resource_name_filter": "u", "pattern_type_filter": 3})
    assert (decision.records, result.error_code, result.matching_acls) == ((), 0, [])
