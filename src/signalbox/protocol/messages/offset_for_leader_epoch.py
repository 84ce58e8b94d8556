"""OffsetForLeaderEpoch, api 23: where a leader epoch ended, for truncation (KIP-101, KIP-279).

2 brought fencing by the current leader epoch, 3 the replica id: -2 is a client that may read beyond the high
watermark.
"""

from __future__ import annotations

from signalbox.protocol.message import message

OffsetForLeaderEpochRequest = message(
    __name__,
    """
    OffsetForLeaderEpochRequest   api 23   versions 2-4   flexible 4+

    ReplicaId               3+    int32 = -2                  ignorable
    Topics                  0+    []OffsetForLeaderTopic
      Topic                 0+    string
      Partitions            0+    []OffsetForLeaderPartition
        Partition           0+    int32
        CurrentLeaderEpoch  2+    int32 = -1                  ignorable
        LeaderEpoch         0+    int32
    """,
)

OffsetForLeaderEpochResponse = message(
    __name__,
    """
    OffsetForLeaderEpochResponse   api 23   versions 2-4   flexible 4+

    ThrottleTimeMs   2+    int32                         ignorable
    Topics           0+    []OffsetForLeaderTopicResult
      Topic          0+    string
      Partitions     0+    []EpochEndOffset
        ErrorCode    0+    int16
        Partition    0+    int32
        LeaderEpoch  1+    int32 = -1                    ignorable
        EndOffset    0+    int64 = -1
    """,
)
