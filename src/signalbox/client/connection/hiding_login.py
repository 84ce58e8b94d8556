"""Logins whose secret a peer sees (OAUTHBEARER, PLAIN): a peer that returns it in an error message has it hidden.

The doctor hides it from before it is sent to the end of its run. A token is not among the client's properties: it comes
from a file or from a token endpoint, and a new one may replace it during a run. A broker that probes its peers has no
client properties at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from signalbox.client.connection.connection_settings import SaslLogin
from signalbox.security.clean_text import TextCleaner
from signalbox.security.sasl.mechanism import OAUTHBEARER, PLAIN, SaslClientExchange
from signalbox.security.sasl.oauthbearer_messages import parse_initial_response


def hiding_secrets(login: SaslLogin, cleaner: TextCleaner) -> SaslLogin:
    """The same login, whose tokens or password `cleaner` hides from then on. SCRAM sends neither."""
    secrets = _SECRETS.get(login.mechanism)
    if secrets is None:
        return login
    return replace(login, begin=lambda: _HidingExchange(login.begin(), cleaner, secrets))


def secrets_in(mechanism: str, message: bytes) -> tuple[str, ...]:
    """The secrets in the first message of a login, which the peer can read."""
    secrets = _SECRETS.get(mechanism)
    return secrets(message) if secrets is not None else ()


def _of_token(message: bytes) -> tuple[str, ...]:
    """The token, and its signature, which alone makes a valid token of known claims."""
    token = parse_initial_response(message).token
    return token, token.rpartition(".")[2]


def _of_password(message: bytes) -> tuple[str, ...]:
    return (message.rpartition(b"\0")[2].decode("utf-8", "replace"),)


_SECRETS: dict[str, Callable[[bytes], tuple[str, ...]]] = {OAUTHBEARER: _of_token, PLAIN: _of_password}


class _HidingExchange:
    def __init__(
        self, exchange: SaslClientExchange, cleaner: TextCleaner, secrets: Callable[[bytes], tuple[str, ...]]
    ) -> None:
        self._exchange = exchange
        self._cleaner = cleaner
        self._secrets = secrets
        self.complete = False

    def first(self) -> bytes:
        message = self._exchange.first()
        for secret in self._secrets(message):
            self._cleaner.hide(secret)
        return message

    def respond(self, challenge: bytes) -> bytes | None:
        answer = self._exchange.respond(challenge)
        self.complete = self._exchange.complete
        return answer
