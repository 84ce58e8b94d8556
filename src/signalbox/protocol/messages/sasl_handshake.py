"""SaslHandshake, api 17: choose a SASL mechanism. Never flexible.

After version 0 the mechanism's tokens follow without a header, after version 1 inside SaslAuthenticate.
"""

from __future__ import annotations

from signalbox.protocol.message import message

SaslHandshakeRequest = message(
    __name__,
    """
    SaslHandshakeRequest   api 17   versions 0-1   flexible none

    Mechanism   0+    string
    """,
)

SaslHandshakeResponse = message(
    __name__,
    """
    SaslHandshakeResponse   api 17   versions 0-1   flexible none

    ErrorCode   0+    int16
    Mechanisms  0+    []string
    """,
)
