"""Envelope"""

from __future__ import annotations

from signalbox.protocol.message import message

EnvelopeRequest = message(
    __name__,
    """
    EnvelopeRequest   api 58   versions 0   flexible 0+

    RequestData        0+    bytes
    RequestPrincipal   0+    bytes?
    ClientHostAddress  0+    bytes
    """,
)

EnvelopeResponse = message(
    __name__,
    """
    EnvelopeResponse   api 58   versions 0   flexible 0+

    ResponseData  0+    bytes? = null
    ErrorCode     0+    int16
    """,
)
