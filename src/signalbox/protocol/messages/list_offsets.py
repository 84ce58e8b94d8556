"""ListOffsets"""

from __future__ import annotations

from signalbox.protocol.message import message

ListOffsetsRequest = message(
    __name__,
    """
    ListOffsetsRequest   api 2   versions 1-11   flexible 6+

    ReplicaId               0+    int32
    IsolationLevel          2+    int8
    Topics                  0+    []ListOffsetsTopic
      Name                  0+    string
      Partitions            0+    []ListOffsetsPartition
        PartitionIndex      0+    int32
        CurrentLeaderEpoch  4+    int32 = -1              ignorable
        Timestamp           0+    int64
        MaxNumOffsets       0     int32 = 1
    TimeoutMs               10+   int32                   ignorable
    """,
)

ListOffsetsResponse = message(
    __name__,
    """
    ListOffsetsResponse   api 2   versions 1-11   flexible 6+

    ThrottleTimeMs       2+    int32                           ignorable
    Topics               0+    []ListOffsetsTopicResponse
      Name               0+    string
      Partitions         0+    []ListOffsetsPartitionResponse
        PartitionIndex   0+    int32
        ErrorCode        0+    int16
        OldStyleOffsets  0     []int64
        Timestamp        1+    int64 = -1
        Offset           1+    int64 = -1
        LeaderEpoch      4+    int32 = -1
    """,
)
