"""RenewDelegationToken, api 39: extend a token's expiry time (KIP-48). Forwarded (SPEC F2).

2 is the first flexible version.
"""

from __future__ import annotations

from signalbox.protocol.message import message

RenewDelegationTokenRequest = message(
    __name__,
    """
    RenewDelegationTokenRequest   api 39   versions 0-2   flexible 2+

    Hmac           0+    bytes
    RenewPeriodMs  0+    int64
    """,
)

RenewDelegationTokenResponse = message(
    __name__,
    """
    RenewDelegationTokenResponse   api 39   versions 0-2   flexible 2+

    ErrorCode          0+    int16
    ExpiryTimestampMs  0+    int64
    ThrottleTimeMs     0+    int32
    """,
)
