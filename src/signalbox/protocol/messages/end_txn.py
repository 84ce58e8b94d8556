"""EndTxn, api 26: commit or abort a transaction.

2 added PRODUCER_FENCED, 4 TRANSACTION_ABORTABLE, 5 raises the producer epoch with every transaction and returns
the new one (KIP-890).
"""

from __future__ import annotations

from signalbox.protocol.message import message

EndTxnRequest = message(
    __name__,
    """
    EndTxnRequest   api 26   versions 0-5   flexible 3+

    TransactionalId  0+    string
    ProducerId       0+    int64
    ProducerEpoch    0+    int16
    Committed        0+    bool
    """,
)

EndTxnResponse = message(
    __name__,
    """
    EndTxnResponse   api 26   versions 0-5   flexible 3+

    ThrottleTimeMs  0+    int32
    ErrorCode       0+    int16
    ProducerId      5+    int64 = -1  ignorable
    ProducerEpoch   5+    int16 = -1  ignorable
    """,
)
