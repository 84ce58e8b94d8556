"""AllocateProducerIds, api 67: a broker asks the controller for a block of producer ids (KIP-730).

Version 0 only.
"""

from __future__ import annotations

from signalbox.protocol.message import message

AllocateProducerIdsRequest = message(
    __name__,
    """
    AllocateProducerIdsRequest   api 67   versions 0   flexible 0+

    BrokerId     0+    int32
    BrokerEpoch  0+    int64 = -1
    """,
)

AllocateProducerIdsResponse = message(
    __name__,
    """
    AllocateProducerIdsResponse   api 67   versions 0   flexible 0+

    ThrottleTimeMs   0+    int32
    ErrorCode        0+    int16
    ProducerIdStart  0+    int64
    ProducerIdLen    0+    int32
    """,
)
