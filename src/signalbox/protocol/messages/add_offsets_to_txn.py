"""AddOffsetsToTxn, api 25: a group's offsets join a transaction.

2 added PRODUCER_FENCED, 4 TRANSACTION_ABORTABLE.
"""

from __future__ import annotations

from signalbox.protocol.message import message

AddOffsetsToTxnRequest = message(
    __name__,
    """
    AddOffsetsToTxnRequest   api 25   versions 0-4   flexible 3+

    TransactionalId  0+    string
    ProducerId       0+    int64
    ProducerEpoch    0+    int16
    GroupId          0+    string
    """,
)

AddOffsetsToTxnResponse = message(
    __name__,
    """
    AddOffsetsToTxnResponse   api 25   versions 0-4   flexible 3+

    ThrottleTimeMs  0+    int32
    ErrorCode       0+    int16
    """,
)
