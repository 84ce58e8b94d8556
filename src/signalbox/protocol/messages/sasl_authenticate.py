"""SaslAuthenticate, api 36: one step of the SASL exchange that SaslHandshake 1 chose (KIP-152).

1 returns the lifetime of the session (KIP-368).
"""

from __future__ import annotations

from signalbox.protocol.message import message

SaslAuthenticateRequest = message(
    __name__,
    """
    SaslAuthenticateRequest   api 36   versions 0-2   flexible 2+

    AuthBytes   0+    bytes
    """,
)

SaslAuthenticateResponse = message(
    __name__,
    """
    SaslAuthenticateResponse   api 36   versions 0-2   flexible 2+

    ErrorCode          0+    int16
    ErrorMessage       0+    string?
    AuthBytes          0+    bytes
    SessionLifetimeMs  1+    int64     ignorable
    """,
)
