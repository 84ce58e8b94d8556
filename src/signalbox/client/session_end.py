"""A SASL session of ours and its end (KIP-368): what is fetched before logging in, and when to log in anew.

Kafka's clients renew a session on the connection it belongs to. Ours leave shortly before the end and connect again, by
Kafka's shares: no request is lost by it, since a connection is left when nothing is on its way.
"""

from __future__ import annotations

import random

from signalbox.client.connection_settings import ConnectionSettings
from signalbox.client.failures import ConnectFailed
from signalbox.client.node import Address
from signalbox.security.oauth.login_token import TokenUnavailable

_SHARE, _JITTER = 0.85, 0.1
LEAVING = "the SASL session ends soon: connecting again"


def seconds_to_stay(session_lifetime_ms: int) -> float:
    """After how long a connection is to be left, by chance a little later."""
    return session_lifetime_ms / 1000 * (_SHARE + _JITTER * random.random())


async def login_ready(address: Address, settings: ConnectionSettings) -> None:
    """Waits for what the login needs (a token). ConnectFailed when it is not to be had, or nothing may be dialled."""
    if settings.security.unusable:
        raise ConnectFailed(address, "resolve", settings.security.unusable)
    login = settings.security.sasl
    if login is None or login.ready is None:
        return
    try:
        await login.ready()
    except TokenUnavailable as error:
        raise ConnectFailed(address, "sasl", str(error)) from error
