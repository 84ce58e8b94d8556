"""The configuration keys for access tokens: Kafka's names, types and defaults (KIP-768), and our `expected.scope`.

On a broker each key can be set for all listeners, for one listener, and for one listener's mechanism
(`listener.name.<listener>.oauthbearer.<key>`); the more specific value applies.
"""

from __future__ import annotations

from signalbox.common.config.config_table import ConfigRow, ConfigType, Validator, Value, at_least, between

_S, _I, _L, _D, _B, _LIST, _PW, _CLASS = (
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.DOUBLE,
    ConfigType.BOOLEAN,
    ConfigType.LIST,
    ConfigType.PASSWORD,
    ConfigType.CLASS,
)
_Row = tuple[str, ConfigType, Value, Validator | None, str]


def _claim_name(value: Value) -> str | None:
    return None if str(value).strip() else "a claim's name cannot be blank"


_VALIDATION: tuple[_Row, ...] = (
    ("sasl.oauthbearer.jwks.endpoint.url", _S, None, None,
     "The URL of the JWKS with the public keys of the token issuer: file://, http:// or https://."),
    ("sasl.oauthbearer.jwks.endpoint.refresh.ms", _L, 3_600_000, at_least(1_000),
     "The interval in milliseconds at which the JWKS is read again."),
    ("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", _L, 100, at_least(1),
     "The time in milliseconds to wait after a failed attempt to read the JWKS. It doubles with each attempt up to the"
     " maximum."),
    ("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", _L, 10_000, at_least(1),
     "The maximum time in milliseconds to wait after a failed attempt to read the JWKS."),
    ("sasl.oauthbearer.clock.skew.seconds", _I, 30, at_least(0),
     "The maximum difference in seconds between the clocks of the issuer and the broker when exp and nbf are checked."),
    ("sasl.oauthbearer.expected.audience", _LIST, [], None,
     "The list of accepted audiences (aud) of a token. If empty, a token with an audience is rejected."),
    ("sasl.oauthbearer.expected.issuer", _S, None, None,
     "The required issuer (iss) of a token. If not set, the issuer is not checked."),
    ("signalbox.sasl.oauthbearer.expected.scope", _LIST, [], None,
     "The list of scopes that a token must have. If empty, no scope is required. This key is specific to Signalbox."),
    ("sasl.oauthbearer.scope.claim.name", _S, "scope", _claim_name, "The name of the claim with the scopes."),
    ("sasl.oauthbearer.sub.claim.name", _S, "sub", _claim_name, "The name of the claim with the principal name."),
)  # fmt: skip
_LOGIN: tuple[_Row, ...] = (
    ("sasl.login.callback.handler.class", _CLASS, None, None,
     "The Python import path of the class that provides tokens for outgoing connections. On a broker it can be set per"
     " listener and mechanism only."),
    ("sasl.oauthbearer.token.endpoint.url", _S, None, None,
     "The source of tokens for outgoing connections: the file:// URL of a file with a token, or the http(s):// URL of"
     " a token endpoint."),
    ("sasl.oauthbearer.client.credentials.client.id", _S, None, None,
     "The client id for the token endpoint. The option clientId of the login module can be used instead."),
    ("sasl.oauthbearer.client.credentials.client.secret", _PW, None, None,
     "The client secret for the token endpoint. The option clientSecret of the login module can be used instead."),
    ("sasl.oauthbearer.scope", _S, None, None,
     "The scope in requests to the token endpoint. The option scope of the login module can be used instead."),
    ("sasl.oauthbearer.header.urlencode", _B, False, None,
     "Whether client id and client secret are URL-encoded in the authorization header, as in RFC 6749."),
    ("sasl.login.connect.timeout.ms", _I, None, None,
     "The maximum time in milliseconds to connect to the token endpoint. If not set, 10 seconds."),
    ("sasl.login.read.timeout.ms", _I, None, None,
     "The maximum time in milliseconds for the complete response of the token endpoint. If not set, 10 seconds."),
    ("sasl.login.retry.backoff.ms", _L, 100, at_least(1),
     "The time in milliseconds to wait after a failed attempt to get a token. It doubles with each attempt up to the"
     " maximum."),
    ("sasl.login.retry.backoff.max.ms", _L, 10_000, at_least(1),
     "The maximum time in milliseconds to wait after a failed attempt to get a token."),
    ("sasl.login.refresh.window.factor", _D, 0.8, between(0.5, 1.0),
     "The fraction of the lifetime of a token after which it is refreshed."),
    ("sasl.login.refresh.window.jitter", _D, 0.05, between(0.0, 0.25),
     "The maximum fraction of the lifetime that is added randomly to the refresh time."),
    ("sasl.login.refresh.min.period.seconds", _I, 60, between(0, 900),
     "The minimum time in seconds before a token is refreshed."),
    ("sasl.login.refresh.buffer.seconds", _I, 300, between(0, 3600),
     "The time in seconds before its expiry at which a token is refreshed at the latest."),
)  # fmt: skip


def _rows(rows: tuple[_Row, ...]) -> tuple[ConfigRow, ...]:
    return tuple(ConfigRow(name, type_, default, doc, validator) for name, type_, default, validator, doc in rows)


VALIDATION_ROWS = _rows(_VALIDATION)
"""Keys for the validation of tokens by a broker."""

LOGIN_ROWS = _rows(_LOGIN)
"""Keys for getting a token for outgoing connections."""
