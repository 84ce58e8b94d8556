"""ListTransactions, api 66: transactions that this broker coordinates (KIP-664).

1 filters by age (KIP-994), 2 by a pattern (KIP-1152).
"""

from __future__ import annotations

from signalbox.protocol.message import message

ListTransactionsRequest = message(
    __name__,
    """
    ListTransactionsRequest   api 66   versions 0-2   flexible 0+

    StateFilters            0+    []string
    ProducerIdFilters       0+    []int64
    DurationFilter          1+    int64 = -1
    TransactionalIdPattern  2+    string? = null
    """,
)

ListTransactionsResponse = message(
    __name__,
    """
    ListTransactionsResponse   api 66   versions 0-2   flexible 0+

    ThrottleTimeMs       0+    int32
    ErrorCode            0+    int16
    UnknownStateFilters  0+    []string
    TransactionStates    0+    []TransactionState
      TransactionalId    0+    string
      ProducerId         0+    int64
      TransactionState   0+    string
    """,
)
