"""The end of our SASL sessions (KIP-368): what is fetched before a login, and when to log in again.

Kafka's clients re-authenticate on the same connection. Ours close it shortly before the session ends and connect again,
after Kafka's fractions of the lifetime. No request is lost, because a connection is closed when none is in flight.
"""

from __future__ import annotations

import random

from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address
from signalbox.client.failures import ConnectFailed
from signalbox.security.oauth.login_token import TokenUnavailable

_SHARE, _JITTER = 0.85, 0.1
LEAVING = "the SASL session ends soon: connecting again"


def seconds_until_session_end(session_lifetime_ms: int) -> float:
    """The time in seconds after which a connection should be closed, with random jitter."""
    return session_lifetime_ms / 1000 * (_SHARE + _JITTER * random.random())


async def login_ready(address: Address, settings: ConnectionSettings) -> None:
    """Wait for what the login needs (a token). ConnectFailed without it, or when no connection may be made."""
    if settings.security.unusable:
        raise ConnectFailed(address, "resolve", settings.security.unusable)
    login = settings.security.sasl
    if login is None or login.ready is None:
        return
    try:
        await login.ready()
    except TokenUnavailable as error:
        raise ConnectFailed(address, "sasl", str(error)) from error
