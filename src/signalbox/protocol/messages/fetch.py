"""Fetch, api 1: read record batches; consumers and followers use the same request.

A replica id >= 0 marks a follower (until 14 a plain field, from 15 tagged ReplicaState, KIP-903). 4 brought read-
committed, 7 incremental sessions (KIP-227), 9 leader epoch fencing (KIP-320), 11 racks (KIP-392), 12 truncation by
diverging epoch, 13 topic ids (KIP-516), 16 the hint of the current leader (KIP-951), 17 directory ids, 18 the
follower's high watermark (KIP-1166).
"""

from __future__ import annotations

from signalbox.protocol.message import message

FetchRequest = message(
    __name__,
    """
    FetchRequest   api 1   versions 4-18   flexible 12+

    ClusterId               12+   string? = null               tag 0 ignorable
    ReplicaId               0-14  int32 = -1
    ReplicaState            15+   ReplicaState                 tag 1
      ReplicaId             15+   int32 = -1
      ReplicaEpoch          15+   int64 = -1
    MaxWaitMs               0+    int32
    MinBytes                0+    int32
    MaxBytes                3+    int32 = 0x7fffffff           ignorable
    IsolationLevel          4+    int8                         ignorable
    SessionId               7+    int32                        ignorable
    SessionEpoch            7+    int32 = -1                   ignorable
    Topics                  0+    []FetchTopic
      Topic                 0-12  string                       ignorable
      TopicId               13+   uuid                         ignorable
      Partitions            0+    []FetchPartition
        Partition           0+    int32
        CurrentLeaderEpoch  9+    int32 = -1                   ignorable
        FetchOffset         0+    int64
        LastFetchedEpoch    12+   int32 = -1
        LogStartOffset      5+    int64 = -1                   ignorable
        PartitionMaxBytes   0+    int32
        ReplicaDirectoryId  17+   uuid                         tag 0 ignorable
        HighWatermark       18+   int64 = 9223372036854775807  tag 1 ignorable
    ForgottenTopicsData     7+    []ForgottenTopic
      Topic                 7-12  string                       ignorable
      TopicId               13+   uuid                         ignorable
      Partitions            7+    []int32
    RackId                  11+   string                       ignorable
    """,
)

FetchResponse = message(
    __name__,
    """
    FetchResponse   api 1   versions 4-18   flexible 12+

    ThrottleTimeMs            1+    int32                     ignorable
    ErrorCode                 7+    int16                     ignorable
    SessionId                 7+    int32
    Responses                 0+    []FetchableTopicResponse
      Topic                   0-12  string                    ignorable
      TopicId                 13+   uuid                      ignorable
      Partitions              0+    []PartitionData
        PartitionIndex        0+    int32
        ErrorCode             0+    int16
        HighWatermark         0+    int64
        LastStableOffset      4+    int64 = -1                ignorable
        LogStartOffset        5+    int64 = -1                ignorable
        DivergingEpoch        12+   EpochEndOffset            tag 0
          Epoch               12+   int32 = -1
          EndOffset           12+   int64 = -1
        CurrentLeader         12+   LeaderIdAndEpoch          tag 1
          LeaderId            12+   int32 = -1
          LeaderEpoch         12+   int32 = -1
        SnapshotId            12+   SnapshotId                tag 2
          EndOffset           0+    int64 = -1
          Epoch               0+    int32 = -1
        AbortedTransactions   4+    []AbortedTransaction?     ignorable
          ProducerId          4+    int64
          FirstOffset         4+    int64
        PreferredReadReplica  11+   int32 = -1
        Records               0+    records?
    NodeEndpoints             16+   []NodeEndpoint            tag 0
      NodeId                  16+   int32
      Host                    16+   string
      Port                    16+   int32
      Rack                    16+   string? = null
    """,
)
