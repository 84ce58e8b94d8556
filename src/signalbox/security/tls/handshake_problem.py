"""Checks whether two TLS contexts are compatible: a handshake in memory, before connections depend on them."""

from __future__ import annotations

import ssl

_STEPS = 20  # a handshake takes three or four in each direction


def handshake_problem(server: ssl.SSLContext, client: ssl.SSLContext, host: str | None = None) -> str:
    """Why the handshake of `client` with `server` fails, "" when it succeeds. `host` is the name that the client would
    connect to; it matters where the client checks names."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_side=False, server_hostname=host),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    try:
        for _ in range(_STEPS):
            for side in list(sides):
                try:
                    side.do_handshake()
                except ssl.SSLWantReadError:
                    continue
                sides.remove(side)
            if not sides:
                return ""
    except ssl.SSLError as error:
        return getattr(error, "verify_message", "") or error.reason or str(error)
    return "it does not end"
