"""OffsetFetch, api 9: the committed offsets of a group.

Topics null = all (2 and later). 7 brought RequireStable, 8 several groups in one request (the single-group fields
end there), 9 the protocol of KIP-848, 10 topic ids in place of names.
"""

from __future__ import annotations

from signalbox.protocol.message import message

OffsetFetchRequest = message(
    __name__,
    """
    OffsetFetchRequest   api 9   versions 1-10   flexible 6+

    GroupId               0-7   string
    Topics                0-7   []OffsetFetchRequestTopic?2-7
      Name                0-7   string
      PartitionIndexes    0-7   []int32
    Groups                8+    []OffsetFetchRequestGroup
      GroupId             8+    string
      MemberId            9+    string? = null                 ignorable
      MemberEpoch         9+    int32 = -1                     ignorable
      Topics              8+    []OffsetFetchRequestTopics?
        Name              8-9   string                         ignorable
        TopicId           10+   uuid                           ignorable
        PartitionIndexes  8+    []int32
    RequireStable         7+    bool
    """,
)

OffsetFetchResponse = message(
    __name__,
    """
    OffsetFetchResponse   api 9   versions 1-10   flexible 6+

    ThrottleTimeMs              3+    int32                            ignorable
    Topics                      0-7   []OffsetFetchResponseTopic
      Name                      0-7   string
      Partitions                0-7   []OffsetFetchResponsePartition
        PartitionIndex          0-7   int32
        CommittedOffset         0-7   int64
        CommittedLeaderEpoch    5-7   int32 = -1                       ignorable
        Metadata                0-7   string?
        ErrorCode               0-7   int16
    ErrorCode                   2-7   int16                            ignorable
    Groups                      8+    []OffsetFetchResponseGroup
      GroupId                   8+    string
      Topics                    8+    []OffsetFetchResponseTopics
        Name                    8-9   string                           ignorable
        TopicId                 10+   uuid                             ignorable
        Partitions              8+    []OffsetFetchResponsePartitions
          PartitionIndex        8+    int32
          CommittedOffset       8+    int64
          CommittedLeaderEpoch  8+    int32 = -1                       ignorable
          Metadata              8+    string?
          ErrorCode             8+    int16
      ErrorCode                 8+    int16
    """,
)
