"""Produce, api 0: append record batches to partitions that this broker leads.

acks=0 is never answered, acks=1 when the leader has written, acks=-1 when the whole ISR has. 3 brought transactions
and message format 2, 7 zstd, 8 error messages for rejected records, 10 the hint of the current leader (KIP-951), 11
TRANSACTION_ABORTABLE and 12 implicit AddPartitionsToTxn (KIP-890), 13 topic ids in place of names (KIP-516).
"""

from __future__ import annotations

from signalbox.protocol.message import message

ProduceRequest = message(
    __name__,
    """
    ProduceRequest   api 0   versions 3-13   flexible 9+

    TransactionalId  3+    string? = null
    Acks             0+    int16
    TimeoutMs        0+    int32
    TopicData        0+    []TopicProduceData
      Name           0-12  string                  ignorable
      TopicId        13+   uuid                    ignorable
      PartitionData  0+    []PartitionProduceData
        Index        0+    int32
        Records      0+    records?
    """,
)

ProduceResponse = message(
    __name__,
    """
    ProduceResponse   api 0   versions 3-13   flexible 9+

    Responses                     0+    []TopicProduceResponse
      Name                        0-12  string                       ignorable
      TopicId                     13+   uuid                         ignorable
      PartitionResponses          0+    []PartitionProduceResponse
        Index                     0+    int32
        ErrorCode                 0+    int16
        BaseOffset                0+    int64
        LogAppendTimeMs           2+    int64 = -1                   ignorable
        LogStartOffset            5+    int64 = -1                   ignorable
        RecordErrors              8+    []BatchIndexAndErrorMessage  ignorable
          BatchIndex              8+    int32
          BatchIndexErrorMessage  8+    string? = null
        ErrorMessage              8+    string? = null               ignorable
        CurrentLeader             10+   LeaderIdAndEpoch             tag 0
          LeaderId                10+   int32 = -1
          LeaderEpoch             10+   int32 = -1
    ThrottleTimeMs                1+    int32                        ignorable
    NodeEndpoints                 10+   []NodeEndpoint               tag 0
      NodeId                      10+   int32
      Host                        10+   string
      Port                        10+   int32
      Rack                        10+   string? = null
    """,
)
