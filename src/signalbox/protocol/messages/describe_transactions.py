"""DescribeTransactions, api 65: state of transactions, from their coordinator (KIP-664).

Version 0 only.
"""

from __future__ import annotations

from signalbox.protocol.message import message

DescribeTransactionsRequest = message(
    __name__,
    """
    DescribeTransactionsRequest   api 65   versions 0   flexible 0+

    TransactionalIds  0+    []string
    """,
)

DescribeTransactionsResponse = message(
    __name__,
    """
    DescribeTransactionsResponse   api 65   versions 0   flexible 0+

    ThrottleTimeMs            0+    int32
    TransactionStates         0+    []TransactionState
      ErrorCode               0+    int16
      TransactionalId         0+    string
      TransactionState        0+    string
      TransactionTimeoutMs    0+    int32
      TransactionStartTimeMs  0+    int64
      ProducerId              0+    int64
      ProducerEpoch           0+    int16
      Topics                  0+    []TopicData
        Topic                 0+    string
        Partitions            0+    []int32
    """,
)
