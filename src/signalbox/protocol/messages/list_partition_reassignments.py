"""ListPartitionReassignments, api 46: reassignments under way (KIP-455). Forwarded (SPEC F2).

Topics null = all.
"""

from __future__ import annotations

from signalbox.protocol.message import message

ListPartitionReassignmentsRequest = message(
    __name__,
    """
    ListPartitionReassignmentsRequest   api 46   versions 0   flexible 0+

    TimeoutMs           0+    int32 = 60000
    Topics              0+    []ListPartitionReassignmentsTopics? = null
      Name              0+    string
      PartitionIndexes  0+    []int32
    """,
)

ListPartitionReassignmentsResponse = message(
    __name__,
    """
    ListPartitionReassignmentsResponse   api 46   versions 0   flexible 0+

    ThrottleTimeMs        0+    int32
    ErrorCode             0+    int16
    ErrorMessage          0+    string?
    Topics                0+    []OngoingTopicReassignment
      Name                0+    string
      Partitions          0+    []OngoingPartitionReassignment
        PartitionIndex    0+    int32
        Replicas          0+    []int32
        AddingReplicas    0+    []int32
        RemovingReplicas  0+    []int32
    """,
)
