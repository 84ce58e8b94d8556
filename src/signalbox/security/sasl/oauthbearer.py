"""SASL OAUTHBEARER (RFC 7628), server and client, as in Kafka (KIP-255).

| server | client's message | response |
|---|---|---|
| first | initial response with a valid token | empty: complete |
| first | initial response with an invalid token | `{"status":"invalid_token"}`, no error code |
| rejected | `\\x01` | failure, with the same JSON as error message |
| rejected | anything else | failure (Kafka treats it as another attempt, any number of times) |

The session ends when the token expires, or earlier (KIP-368).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from signalbox.common.log_limiter import CLIENT_CAUSED
from signalbox.security.oauth.access_token import AccessToken, TokenRejected, TokenValidator
from signalbox.security.sasl.mechanism import NO_EXTENSIONS, OAUTHBEARER, SaslError, invalid_credentials
from signalbox.security.sasl.oauthbearer_messages import ERROR_ACKNOWLEDGED, InitialResponse, parse_initial_response

log = logging.getLogger(__name__)


class OAuthBearerMechanism:
    """The mechanism of one listener. `blocking`: the validator may block."""

    name = OAUTHBEARER

    def __init__(self, validator: TokenValidator, *, blocking: bool = False) -> None:
        self.validator = validator
        self.blocking = blocking

    def begin(self) -> OAuthBearerServerExchange:
        return OAuthBearerServerExchange(self.validator)


class OAuthBearerServerExchange:
    """`extensions` are the SASL extensions that the client sent; nothing here depends on them."""

    token_authenticated = False  # true for delegation tokens only
    token_id = ""

    def __init__(self, validator: TokenValidator) -> None:
        self._validator = validator
        self._error_json = ""
        self.rejected = ""
        self.complete = False
        self.authorization_id = ""
        self.expires_at_ms: int | None = None
        self.access_token: AccessToken | None = None
        self.extensions = NO_EXTENSIONS

    def respond(self, token: bytes) -> bytes:
        if self.rejected:
            reason, self.rejected = self.rejected, ""
            if token == ERROR_ACKNOWLEDGED:
                raise SaslError(self._error_json, reason)
            raise invalid_credentials(OAUTHBEARER, f"{reason}; the answer to that was no acknowledgement")
        message = parse_initial_response(token)
        try:
            accepted = self._validator.validate(message.token)
        except TokenRejected as rejection:
            self.rejected, self._error_json = str(rejection) or rejection.status, rejection.as_json()
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
            bad = self._validator.rejected_extensions(accepted, message.extensions)
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
    """A validator raised an unexpected exception: its text may hold the token, so only its type is logged."""
    kind = f"{type(validator).__name__} failed with {type(error).__name__}"
    log.error("Access token could not be validated: %s", kind, extra=CLIENT_CAUSED)
    return invalid_credentials(OAUTHBEARER, kind)


class OAuthBearerClientExchange:
    """Sends the token that is current when the exchange begins."""

    def __init__(
        self, token: Callable[[], str], extensions: Mapping[str, str] = NO_EXTENSIONS, authorization_id: str = ""
    ) -> None:
        self._token = token
        self._extensions = extensions
        self._authorization_id = authorization_id
        self._rejected = False
        self.complete = False

    def first(self) -> bytes:
        return InitialResponse(self._token(), self._authorization_id, self._extensions).encode()

    def respond(self, challenge: bytes) -> bytes | None:
        if challenge and not self._rejected:
            self._rejected = True  # after our acknowledgement the server ends the exchange with its error
            return ERROR_ACKNOWLEDGED
        if self._rejected:
            raise SaslError("the server went on after it had rejected the token")
        self.complete = True
        return None
