"""ListOffsets, api 2: the offset at a timestamp, or at one of the special ones.

Timestamps: -1 latest, -2 earliest, from 7 -3 maximum timestamp (KIP-734), from 8 -4 earliest local and from 9 -5
last tiered (KIP-405, KIP-1005), from 11 -6 earliest not yet uploaded. 2 brought the isolation level, 4 leader
epochs.
"""

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
