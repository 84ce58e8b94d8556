"""The table of APIs is total: it agrees with the messages, with its enum and with the lists of SPEC."""

from __future__ import annotations

import pytest

from signalbox.protocol.api_table import (
    API_TABLE,
    ApiKey,
    ApiRow,
    request_header_version,
    response_header_version,
)
from signalbox.protocol.schema import snake_case
from tests.protocol.arbitrary import ALL_MESSAGES

ROWS = list(API_TABLE.values())

SPEC_F2 = {
    "AlterConfigs",
    "IncrementalAlterConfigs",
    "CreateAcls",
    "DeleteAcls",
    "AlterClientQuotas",
    "CreateDelegationToken",
    "RenewDelegationToken",
    "ExpireDelegationToken",
    "AlterPartitionReassignments",
    "ListPartitionReassignments",
    "CreatePartitions",
    "CreateTopics",
    "DeleteTopics",
    "ElectLeaders",
    "UpdateFeatures",
    "AlterUserScramCredentials",
}
SPEC_C4 = {"LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown"}
CONNECTION_SET_UP = {"ApiVersions", "SaslHandshake", "SaslAuthenticate"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_agrees_with_its_messages(row: ApiRow) -> None:
    for made in (row.request, row.response):
        assert made.api_key == row.key
        assert (made.min_version, made.max_version) == (row.min_version, row.max_version)
        for version in range(row.min_version, row.max_version + 1):
            assert row.is_flexible(version) == (version in made.flexible_versions)
    assert row.request.__name__ == f"{row.name}Request"
    assert row.response.__name__ == f"{row.name}Response"


def test_every_request_has_a_row_and_every_row_a_member() -> None:
    assert {made.api_key for made in ALL_MESSAGES if made.api_key is not None} == set(API_TABLE)
    assert {member.name: member.value for member in ApiKey} == {snake_case(r.name).upper(): r.key for r in ROWS}


def test_forwardable_is_spec_f2s_list() -> None:
    assert {row.name for row in ROWS if row.forwardable} == SPEC_F2


def test_the_forced_control_plane_admits_spec_c4s_list() -> None:
    assert {row.name for row in ROWS if row.control_plane} == SPEC_C4 | CONNECTION_SET_UP


def test_cluster_actions_are_the_requests_between_brokers() -> None:
    assert {row.name for row in ROWS if row.cluster_action} == SPEC_C4 | {
        "AlterPartition",
        "Envelope",
        "AllocateProducerIds",
    }


def test_produce_is_listed_from_0_and_nothing_else_below_its_versions() -> None:
    differing = [row.name for row in ROWS if row.advertised_min_version != row.min_version]
    assert differing == ["Produce"]
    assert API_TABLE[ApiKey.PRODUCE].advertised_min_version == 0


@pytest.mark.parametrize(
    ("api_key", "version", "request_version", "response_version"),
    [
        (ApiKey.PRODUCE, 8, 1, 0),
        (ApiKey.PRODUCE, 9, 2, 1),
        (ApiKey.CONTROLLED_SHUTDOWN, 0, 0, 0),
        (ApiKey.CONTROLLED_SHUTDOWN, 2, 1, 0),
        (ApiKey.CONTROLLED_SHUTDOWN, 3, 2, 1),
        (ApiKey.API_VERSIONS, 2, 1, 0),
        (ApiKey.API_VERSIONS, 5, 2, 0),
        (ApiKey.SASL_HANDSHAKE, 1, 1, 0),
        (ApiKey.ENVELOPE, 0, 2, 1),
        (4711, 0, 1, 0),
    ],
)
def test_header_versions(api_key: int, version: int, request_version: int, response_version: int) -> None:
    assert request_header_version(api_key, version) == request_version
    assert response_header_version(api_key, version) == response_version
