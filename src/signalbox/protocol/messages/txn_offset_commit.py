"""TxnOffsetCommit, api 28: a group's offsets, held back until the transaction ends.

2 brought the leader epoch, 3 member and generation (KIP-447), 5 implies AddOffsetsToTxn (KIP-890), 6 topic ids.
"""

from __future__ import annotations

from signalbox.protocol.message import message

TxnOffsetCommitRequest = message(
    __name__,
    """
    TxnOffsetCommitRequest   api 28   versions 0-6   flexible 3+

    TransactionalId           0+    string
    GroupId                   0+    string
    ProducerId                0+    int64
    ProducerEpoch             0+    int16
    GenerationIdOrMemberEpoch  3+   int32 = -1
    MemberId                  3+    string
    GroupInstanceId           3+    string? = null
    Topics                    0+    []TxnOffsetCommitRequestTopic
      Name                    0-5   string                             ignorable
      TopicId                 6+    uuid                               ignorable
      Partitions              0+    []TxnOffsetCommitRequestPartition
        PartitionIndex        0+    int32
        CommittedOffset       0+    int64
        CommittedLeaderEpoch  2+    int32 = -1                         ignorable
        CommittedMetadata     0+    string?
    """,
)

TxnOffsetCommitResponse = message(
    __name__,
    """
    TxnOffsetCommitResponse   api 28   versions 0-6   flexible 3+

    ThrottleTimeMs      0+    int32
    Topics              0+    []TxnOffsetCommitResponseTopic
      Name              0-5   string  ignorable
      TopicId           6+    uuid    ignorable
      Partitions        0+    []TxnOffsetCommitResponsePartition
        PartitionIndex  0+    int32
        ErrorCode       0+    int16
    """,
)
