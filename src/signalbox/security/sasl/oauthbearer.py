"""SASL OAUTHBEARER (RFC 7628), server and client, as Kafka speaks it (KIP-255).

| server | client's message | answer |
|---|---|---|
| first | initial response with a good token | empty: complete |
| first | initial response with a bad token | `{"status":"invalid_token"}`, no error code |
| refused | `\\x01` | failure, with the same JSON as error message |
| refused | anything else | failure (Kafka takes it for another attempt, as often as the peer likes) |

The session ends with the token, or earlier (KIP-368).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from signalbox.security.oauth.access_token import AccessToken, TokenRefused, TokenValidator
from signalbox.security.sasl.mechanism import NO_EXTENSIONS, SaslError, invalid_credentials
from signalbox.security.sasl.oauthbearer_messages import ERROR_ACKNOWLEDGED, InitialResponse, parse_initial_response

OAUTHBEARER = "OAUTHBEARER"

log = logging.getLogger(__name__)


class OAuthBearerMechanism:
    """The mechanism as one listener has it. `blocking`: the validator may wait for somebody."""

    name = OAUTHBEARER

    def __init__(self, validator: TokenValidator, *, blocking: bool = False) -> None:
        self.validator = validator
        self.blocking = blocking

    def begin(self) -> OAuthBearerServerExchange:
        return OAuthBearerServerExchange(self.validator)


class OAuthBearerServerExchange:
    """`extensions` are what the client said about itself besides; nothing here depends on them."""

    token_authenticated = False  # this means delegation tokens

    def __init__(self, validator: TokenValidator) -> None:
        self._validator = validator
        self._error_json = ""
        self.refused = ""
        self.complete = False
        self.authorization_id = ""
        self.expires_at_ms: int | None = None
        self.access_token: AccessToken | None = None
        self.extensions = NO_EXTENSIONS

    def respond(self, token: bytes) -> bytes:
        if self.refused:
            reason, self.refused = self.refused, ""
            if token == ERROR_ACKNOWLEDGED:
                raise SaslError(self._error_json, reason)
            raise invalid_credentials(OAUTHBEARER, f"{reason}; the answer to that was no acknowledgement")
        message = parse_initial_response(token)
        try:
            accepted = self._validator.validate(message.token)
        except TokenRefused as refusal:
            self.refused, self._error_json = str(refusal) or refusal.status, refusal.as_json()
            return self._error_json.encode()
        except Exception as error:
            raise _broken(self._validator, error) from None
        self._accept(accepted, message)
        return b""

    def _accept(self, accepted: AccessToken, message: InitialResponse) -> None:
        if message.authorization_id and message.authorization_id != accepted.principal_name:
            raise SaslError(
                "Authentication failed: Client requested an authorization id that is different from the token's "
                "principal name"
            )
        try:
            bad = self._validator.refused_extensions(accepted, message.extensions)
        except Exception as error:
            raise _broken(self._validator, error) from None
        if bad:
            listed = "; ".join(f"{name}: {reason}" for name, reason in bad.items())
            raise SaslError(f"Authentication failed: {len(bad)} extensions are invalid! They are: {listed}")
        self.extensions = message.extensions
        self.authorization_id = accepted.principal_name
        self.access_token = accepted
        self.expires_at_ms = accepted.expires_at_ms
        self.complete = True


def _broken(validator: TokenValidator, error: Exception) -> SaslError:
    """A validator that raises what it should not: its own text may hold the token, so only its kind is told."""
    kind = f"{type(validator).__name__} failed with {type(error).__name__}"
    log.error("%s: a token could not be checked", kind)
    return invalid_credentials(OAUTHBEARER, kind)


class OAuthBearerClientExchange:
    """Shows the token that is current when the exchange begins."""

    def __init__(
        self, token: Callable[[], str], extensions: Mapping[str, str] = NO_EXTENSIONS, authorization_id: str = ""
    ) -> None:
        self._token = token
        self._extensions = extensions
        self._authorization_id = authorization_id
        self._refused = False
        self.complete = False

    def first(self) -> bytes:
        return InitialResponse(self._token(), self._authorization_id, self._extensions).encode()

    def respond(self, challenge: bytes) -> bytes | None:
        if challenge and not self._refused:
            self._refused = True  # the server ends the exchange with its own words once we have said that we know
            return ERROR_ACKNOWLEDGED
        if self._refused:
            raise SaslError("the server went on after it had refused the token")
        self.complete = True
        return None
