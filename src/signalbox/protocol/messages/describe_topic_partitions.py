"""DescribeTopicPartitions, api 75: topics with their partitions, page by page (KIP-966).

A cursor names the topic and partition that the next page begins with.
"""

from __future__ import annotations

from signalbox.protocol.message import message

DescribeTopicPartitionsRequest = message(
    __name__,
    """
    DescribeTopicPartitionsRequest   api 75   versions 0   flexible 0+

    Topics                  0+    []TopicRequest
      Name                  0+    string
    ResponsePartitionLimit  0+    int32 = 2000
    Cursor                  0+    Cursor? = null
      TopicName             0+    string
      PartitionIndex        0+    int32
    """,
)

DescribeTopicPartitionsResponse = message(
    __name__,
    """
    DescribeTopicPartitionsResponse   api 75   versions 0   flexible 0+

    ThrottleTimeMs               0+    int32                                       ignorable
    Topics                       0+    []DescribeTopicPartitionsResponseTopic
      ErrorCode                  0+    int16
      Name                       0+    string?
      TopicId                    0+    uuid                                        ignorable
      IsInternal                 0+    bool                                        ignorable
      Partitions                 0+    []DescribeTopicPartitionsResponsePartition
        ErrorCode                0+    int16
        PartitionIndex           0+    int32
        LeaderId                 0+    int32
        LeaderEpoch              0+    int32 = -1                                  ignorable
        ReplicaNodes             0+    []int32
        IsrNodes                 0+    []int32
        EligibleLeaderReplicas   0+    []int32? = null
        LastKnownElr             0+    []int32? = null
        OfflineReplicas          0+    []int32                                     ignorable
      TopicAuthorizedOperations  0+    int32 = -2147483648
    NextCursor                   0+    Cursor? = null
      TopicName                  0+    string
      PartitionIndex             0+    int32
    """,
)
