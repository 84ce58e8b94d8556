"""ElectLeaders, api 43: make preferred replicas leaders, or from 1 on any at all (KIP-460). Forwarded (SPEC F2).

Topics null = all partitions.
"""

from __future__ import annotations

from signalbox.protocol.message import message

ElectLeadersRequest = message(
    __name__,
    """
    ElectLeadersRequest   api 43   versions 0-2   flexible 2+

    ElectionType     1+    int8
    TopicPartitions  0+    []TopicPartitions?
      Topic          0+    string
      Partitions     0+    []int32
    TimeoutMs        0+    int32 = 60000
    """,
)

ElectLeadersResponse = message(
    __name__,
    """
    ElectLeadersResponse   api 43   versions 0-2   flexible 2+

    ThrottleTimeMs          0+    int32
    ErrorCode               1+    int16
    ReplicaElectionResults  0+    []ReplicaElectionResult
      Topic                 0+    string
      PartitionResult       0+    []PartitionResult
        PartitionId         0+    int32
        ErrorCode           0+    int16
        ErrorMessage        0+    string?
    """,
)
