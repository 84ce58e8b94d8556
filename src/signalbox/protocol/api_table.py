"""Every API that Signalbox supports: one row each, read by headers, network, router and the conformance page.

Columns: api key, name, versions, flexible versions (header 2 and 1 instead of 1 and 0), and the marks `forwardable` (a
broker forwards it to the controller inside an Envelope: SPEC F2), `cluster_action` (only a broker may send it:
CLUSTER_ACTION on CLUSTER), `control_plane` (accepted where the control plane is forced: SPEC C4) and `controller`
(accepted on the listeners of dedicated controllers: SPEC F15). Versions and flexibility repeat the message schemas, so
that reading a header imports no message; a test checks that the two are equal. Whether a version is *served* is decided
by the broker's routes, not here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from importlib import import_module
from typing import Any

from signalbox.protocol.schema import VersionRange, snake_case

_ROWS = """
  0 Produce                        3-13   9+
  1 Fetch                          4-18   12+
  2 ListOffsets                    1-11   6+
  3 Metadata                       0-13   9+
  4 LeaderAndIsr                   0-7    4+    cluster_action control_plane
  5 StopReplica                    0-4    2+    cluster_action control_plane
  6 UpdateMetadata                 0-8    6+    cluster_action control_plane
  7 ControlledShutdown             0-3    3+    cluster_action control_plane controller
  8 OffsetCommit                   2-10   8+
  9 OffsetFetch                    1-10   6+
 10 FindCoordinator                0-6    3+
 11 JoinGroup                      0-9    6+
 12 Heartbeat                      0-4    4+
 13 LeaveGroup                     0-5    4+
 14 SyncGroup                      0-5    4+
 15 DescribeGroups                 0-6    5+
 16 ListGroups                     0-5    3+
 17 SaslHandshake                  0-1    none  control_plane controller
 18 ApiVersions                    0-5    3+    control_plane controller
 19 CreateTopics                   2-7    5+    forwardable
 20 DeleteTopics                   1-6    4+    forwardable
 21 DeleteRecords                  0-2    2+
 22 InitProducerId                 0-5    2+
 23 OffsetForLeaderEpoch           2-4    4+
 24 AddPartitionsToTxn             0-5    3+
 25 AddOffsetsToTxn                0-4    3+
 26 EndTxn                         0-5    3+
 27 WriteTxnMarkers                1-2    1+
 28 TxnOffsetCommit                0-6    3+
 29 DescribeAcls                   1-3    2+
 30 CreateAcls                     1-3    2+    forwardable
 31 DeleteAcls                     1-3    2+    forwardable
 32 DescribeConfigs                1-4    4+
 33 AlterConfigs                   0-2    2+    forwardable
 34 AlterReplicaLogDirs            1-2    2+
 35 DescribeLogDirs                1-5    2+
 36 SaslAuthenticate               0-2    2+    control_plane controller
 37 CreatePartitions               0-3    2+    forwardable
 38 CreateDelegationToken          0-3    2+    forwardable
 39 RenewDelegationToken           0-2    2+    forwardable
 40 ExpireDelegationToken          0-2    2+    forwardable
 41 DescribeDelegationToken        0-3    2+
 42 DeleteGroups                   0-3    2+
 43 ElectLeaders                   0-2    2+    forwardable
 44 IncrementalAlterConfigs        0-1    1+    forwardable
 45 AlterPartitionReassignments    0-1    0+    forwardable
 46 ListPartitionReassignments     0      0+    forwardable
 47 OffsetDelete                   0      none
 48 DescribeClientQuotas           0-1    1+
 49 AlterClientQuotas              0-1    1+    forwardable
 50 DescribeUserScramCredentials   0      0+
 51 AlterUserScramCredentials      0      0+    forwardable
 56 AlterPartition                 0-3    0+    cluster_action controller
 57 UpdateFeatures                 0-2    0+    forwardable
 58 Envelope                       0      0+    cluster_action controller
 60 DescribeCluster                0-2    0+
 61 DescribeProducers              0      0+
 65 DescribeTransactions           0      0+
 66 ListTransactions               0-2    0+
 67 AllocateProducerIds            0      0+    cluster_action controller
 74 ListConfigResources            0-1    0+
 75 DescribeTopicPartitions        0      0+
"""

_ADVERTISED_FROM = {"Produce": 0}
"""Produce is advertised from version 0: without 0-2, librdkafka assumes a broker that does not support compression."""


@dataclass(frozen=True, slots=True)
class ApiRow:
    """One API. `request` and `response` import the message file on first use."""

    key: int
    name: str
    min_version: int
    max_version: int
    flexible_from: int | None
    forwardable: bool
    cluster_action: bool
    control_plane: bool
    controller: bool
    advertised_min_version: int

    @property
    def request(self) -> Any:
        return getattr(self._module(), f"{self.name}Request")

    @property
    def response(self) -> Any:
        return getattr(self._module(), f"{self.name}Response")

    def _module(self) -> Any:
        return import_module(f"signalbox.protocol.messages.{snake_case(self.name)}")

    def is_flexible(self, version: int) -> bool:
        return self.flexible_from is not None and version >= self.flexible_from


def _parse_row(line: str) -> ApiRow:
    key, name, versions_text, flexible_text, *marks = line.split()
    versions = VersionRange.parse(versions_text)
    flexible = VersionRange.parse(flexible_text)
    return ApiRow(
        key=int(key),
        name=name,
        min_version=versions.lowest,
        max_version=versions.highest,
        flexible_from=None if flexible_text == "none" else flexible.lowest,
        forwardable="forwardable" in marks,
        cluster_action="cluster_action" in marks,
        control_plane="control_plane" in marks,
        controller="controller" in marks,
        advertised_min_version=_ADVERTISED_FROM.get(name, versions.lowest),
    )


API_TABLE: dict[int, ApiRow] = {row.key: row for row in map(_parse_row, _ROWS.strip().splitlines())}


class ApiKey(IntEnum):
    """Kafka's names of the keys, in capitals. A test checks that members and rows are equal."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75


_CONTROLLED_SHUTDOWN = 7
_API_VERSIONS = 18
_NEVER = 1 << 16
_FLEXIBLE_FROM = {row.key: _NEVER if row.flexible_from is None else row.flexible_from for row in API_TABLE.values()}


def request_header_version(api_key: int, api_version: int) -> int:
    """0, 1 or 2; an unknown API is read as 1."""
    if api_version >= _FLEXIBLE_FROM.get(api_key, _NEVER):
        return 2
    return 0 if api_version == 0 and api_key == _CONTROLLED_SHUTDOWN else 1


def response_header_version(api_key: int, api_version: int) -> int:
    """0 or 1; the response to ApiVersions always has header 0, whatever its version."""
    return 1 if api_version >= _FLEXIBLE_FROM.get(api_key, _NEVER) and api_key != _API_VERSIONS else 0
