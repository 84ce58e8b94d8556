"""Logins with access tokens: each token becomes one of the doctor's secrets before it is sent.

A token is not among the client's properties. It comes from a file or from a token endpoint, and a new one may replace
it during a run.
"""

from __future__ import annotations

from dataclasses import replace

from signalbox.client.connection.connection_settings import SaslLogin
from signalbox.doctor.clean_text import TextCleaner
from signalbox.security.sasl.mechanism import SaslClientExchange
from signalbox.security.sasl.oauthbearer_messages import parse_initial_response


def hiding_tokens(login: SaslLogin, cleaner: TextCleaner) -> SaslLogin:
    """The same login (OAUTHBEARER), whose tokens `cleaner` hides from then on."""
    return replace(login, begin=lambda: _TokenExchange(login.begin(), cleaner))


class _TokenExchange:
    def __init__(self, exchange: SaslClientExchange, cleaner: TextCleaner) -> None:
        self._exchange = exchange
        self._cleaner = cleaner
        self.complete = False

    def first(self) -> bytes:
        message = self._exchange.first()
        self._hide(parse_initial_response(message).token)
        return message

    def _hide(self, token: str) -> None:
        """The token, and its signature, which alone makes a valid token of known claims."""
        signature = token.rpartition(".")[2]
        self._cleaner.hide(token)
        self._cleaner.hide(signature)

    def respond(self, challenge: bytes) -> bytes | None:
        answer = self._exchange.respond(challenge)
        self.complete = self._exchange.complete
        return answer
