"""AddPartitionsToTxn, api 24: partitions join a transaction before they are written to.

Up to 3 for clients; 4 and later between brokers: several transactions, or only verification (KIP-890).
"""

from __future__ import annotations

from signalbox.protocol.message import message

AddPartitionsToTxnRequest = message(
    __name__,
    """
    AddPartitionsToTxnRequest   api 24   versions 0-5   flexible 3+

    Transactions                    4+    []AddPartitionsToTxnTransaction
      TransactionalId               4+    string
      ProducerId                    4+    int64
      ProducerEpoch                 4+    int16
      VerifyOnly                    4+    bool
      Topics                        4+    []AddPartitionsToTxnTopic
    V3AndBelowTransactionalId       0-3   string
    V3AndBelowProducerId            0-3   int64
    V3AndBelowProducerEpoch         0-3   int16
    V3AndBelowTopics                0-3   []AddPartitionsToTxnTopic

    struct AddPartitionsToTxnTopic
      Name                          0+    string
      Partitions                    0+    []int32
    """,
)

AddPartitionsToTxnResponse = message(
    __name__,
    """
    AddPartitionsToTxnResponse   api 24   versions 0-5   flexible 3+

    ThrottleTimeMs                            0+    int32
    ErrorCode                                 4+    int16                                ignorable
    ResultsByTransaction                      4+    []AddPartitionsToTxnResult
      TransactionalId                         4+    string
      TopicResults                            4+    []AddPartitionsToTxnTopicResult
    ResultsByTopicV3AndBelow                  0-3   []AddPartitionsToTxnTopicResult

    struct AddPartitionsToTxnTopicResult
      Name                                    0+    string
      ResultsByPartition                      0+    []AddPartitionsToTxnPartitionResult

    struct AddPartitionsToTxnPartitionResult
      PartitionIndex                          0+    int32
      PartitionErrorCode                      0+    int16
    """,
)
