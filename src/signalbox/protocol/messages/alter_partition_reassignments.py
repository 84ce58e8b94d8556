"""AlterPartitionReassignments, api 45: assign other replicas to partitions; null cancels (KIP-455).

Forwarded (SPEC F2). 1 can forbid a change of the replication factor (KIP-860).
"""

from __future__ import annotations

from signalbox.protocol.message import message

AlterPartitionReassignmentsRequest = message(
    __name__,
    """
    AlterPartitionReassignmentsRequest   api 45   versions 0-1   flexible 0+

    TimeoutMs                     0+    int32 = 60000
    AllowReplicationFactorChange  1+    bool = true
    Topics                        0+    []ReassignableTopic
      Name                        0+    string
      Partitions                  0+    []ReassignablePartition
        PartitionIndex            0+    int32
        Replicas                  0+    []int32? = null
    """,
)

AlterPartitionReassignmentsResponse = message(
    __name__,
    """
    AlterPartitionReassignmentsResponse   api 45   versions 0-1   flexible 0+

    ThrottleTimeMs                0+    int32
    AllowReplicationFactorChange  1+    bool = true                      ignorable
    ErrorCode                     0+    int16
    ErrorMessage                  0+    string?
    Responses                     0+    []ReassignableTopicResponse
      Name                        0+    string
      Partitions                  0+    []ReassignablePartitionResponse
        PartitionIndex            0+    int32
        ErrorCode                 0+    int16
        ErrorMessage              0+    string?
    """,
)
