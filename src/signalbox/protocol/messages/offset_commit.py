"""OffsetCommit, api 8: a group member stores its offsets.

Until 4 a retention may be named; later the broker's own setting counts. 6 brought the leader epoch, 7 static
members (KIP-345), 9 the protocol of KIP-848, 10 topic ids in place of names.
"""

from __future__ import annotations

from signalbox.protocol.message import message

OffsetCommitRequest = message(
    __name__,
    """
    OffsetCommitRequest   api 8   versions 2-10   flexible 8+

    GroupId                    0+    string
    GenerationIdOrMemberEpoch  1+    int32 = -1                      ignorable
    MemberId                   1+    string                          ignorable
    GroupInstanceId            7+    string? = null
    RetentionTimeMs            2-4   int64 = -1                      ignorable
    Topics                     0+    []OffsetCommitRequestTopic
      Name                     0-9   string                          ignorable
      TopicId                  10+   uuid                            ignorable
      Partitions               0+    []OffsetCommitRequestPartition
        PartitionIndex         0+    int32
        CommittedOffset        0+    int64
        CommittedLeaderEpoch   6+    int32 = -1                      ignorable
        CommitTimestamp        1     int64 = -1
        CommittedMetadata      0+    string?
    """,
)

OffsetCommitResponse = message(
    __name__,
    """
    OffsetCommitResponse   api 8   versions 2-10   flexible 8+

    ThrottleTimeMs      3+    int32                            ignorable
    Topics              0+    []OffsetCommitResponseTopic
      Name              0-9   string                           ignorable
      TopicId           10+   uuid                             ignorable
      Partitions        0+    []OffsetCommitResponsePartition
        PartitionIndex  0+    int32
        ErrorCode       0+    int16
    """,
)
