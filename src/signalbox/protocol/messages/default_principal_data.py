"""The principal that brokers send to the controller inside an Envelope (KIP-590, SPEC F7).

It is preceded by two bytes with its version.
"""

from __future__ import annotations

from signalbox.protocol.message import message

DefaultPrincipalData = message(
    __name__,
    """
    DefaultPrincipalData   versions 0   flexible 0+

    Type                0+    string
    Name                0+    string
    TokenAuthenticated  0+    bool
    """,
)
