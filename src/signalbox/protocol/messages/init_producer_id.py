"""InitProducerId, api 22: a producer id and epoch for an idempotent or transactional producer.

3 lets a producer raise its own epoch (KIP-360), 4 added PRODUCER_FENCED, 5 TRANSACTION_ABORTABLE. 6 (two-phase
commit) is marked unstable and left out.
"""

from __future__ import annotations

from signalbox.protocol.message import message

InitProducerIdRequest = message(
    __name__,
    """
    InitProducerIdRequest   api 22   versions 0-5   flexible 2+

    TransactionalId       0+    string?
    TransactionTimeoutMs  0+    int32
    ProducerId            3+    int64 = -1
    ProducerEpoch         3+    int16 = -1
    Enable2Pc             6+    bool
    KeepPreparedTxn       6+    bool
    """,
)

InitProducerIdResponse = message(
    __name__,
    """
    InitProducerIdResponse   api 22   versions 0-5   flexible 2+

    ThrottleTimeMs           0+    int32       ignorable
    ErrorCode                0+    int16
    ProducerId               0+    int64 = -1
    ProducerEpoch            0+    int16
    OngoingTxnProducerId     6+    int64 = -1
    OngoingTxnProducerEpoch  6+    int16 = -1
    """,
)
