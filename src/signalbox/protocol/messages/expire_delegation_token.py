"""ExpireDelegationToken, api 40: end a token, at once or at a time (KIP-48). Forwarded (SPEC F2).

2 is the first flexible version.
"""

from __future__ import annotations

from signalbox.protocol.message import message

ExpireDelegationTokenRequest = message(
    __name__,
    """
    ExpireDelegationTokenRequest   api 40   versions 0-2   flexible 2+

    Hmac                0+    bytes
    ExpiryTimePeriodMs  0+    int64
    """,
)

ExpireDelegationTokenResponse = message(
    __name__,
    """
    ExpireDelegationTokenResponse   api 40   versions 0-2   flexible 2+

    ErrorCode          0+    int16
    ExpiryTimestampMs  0+    int64
    ThrottleTimeMs     0+    int32
    """,
)
