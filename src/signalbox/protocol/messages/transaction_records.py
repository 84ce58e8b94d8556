"""Records of the topic `__transaction_state`: one transactional id and the state of its transaction.

Key and value are each preceded by two bytes with their version; a null value deletes.
"""

from __future__ import annotations

from signalbox.protocol.message import message

TransactionLogKey = message(
    __name__,
    """
    TransactionLogKey   versions 0   flexible none

    TransactionalId  0     string
    """,
)

TransactionLogValue = message(
    __name__,
    """
    TransactionLogValue   versions 0-1   flexible 1+

    ProducerId                        0+    int64
    PreviousProducerId                1+    int64 = -1           tag 0
    NextProducerId                    1+    int64 = -1           tag 1
    ProducerEpoch                     0+    int16
    NextProducerEpoch                 1+    int16 = -1           tag 3
    TransactionTimeoutMs              0+    int32
    TransactionStatus                 0+    int8
    TransactionPartitions             0+    []PartitionsSchema?
      Topic                           0+    string
      PartitionIds                    0+    []int32
    TransactionLastUpdateTimestampMs  0+    int64
    TransactionStartTimestampMs       0+    int64
    ClientTransactionVersion          1+    int16                tag 2
    """,
)
