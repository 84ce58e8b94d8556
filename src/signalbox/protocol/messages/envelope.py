"""Envelope, api 58: a client's request, untouched, on its way from a broker to the controller (KIP-590, SPEC F3).

RequestData is the client's header and body byte for byte; the principal is DefaultPrincipalData behind its version;
the host is a raw address of 4 or 16 bytes. Taken on the privileged listener only (SPEC F4).
"""

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
