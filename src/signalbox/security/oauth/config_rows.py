"""The keys of access tokens: Kafka's names, types and defaults (KIP-768), and one of ours (`expected.scope`).

On a broker each can be set for everything, for a listener, and for a listener's mechanism
(`listener.name.<listener>.oauthbearer.<key>`); the narrower one counts.
"""

from __future__ import annotations

from signalbox.common.config_table import ConfigRow, ConfigType, Validator, Value, at_least, between

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
     "Where the public keys of the tokens' issuer are: file://, http:// or https://."),
    ("sasl.oauthbearer.jwks.endpoint.refresh.ms", _L, 3_600_000, at_least(1_000), "Keys are read again after this."),
    ("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", _L, 100, at_least(1),
     "Wait after keys could not be read; doubles up to the maximum."),
    ("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", _L, 10_000, at_least(1), "The longest of these waits."),
    ("sasl.oauthbearer.clock.skew.seconds", _I, 30, at_least(0), "How far clocks may be apart when exp and nbf count."),
    ("sasl.oauthbearer.expected.audience", _LIST, [], None,
     "A token must be for one of these (aud). Empty: a token that names an audience is refused."),
    ("sasl.oauthbearer.expected.issuer", _S, None, None, "A token must be from here (iss); empty: not looked at."),
    ("sasl.oauthbearer.expected.scope", _LIST, [], None, "Scopes that a token must all have; empty: none. Ours."),
    ("sasl.oauthbearer.scope.claim.name", _S, "scope", _claim_name, "The claim that holds the scopes."),
    ("sasl.oauthbearer.sub.claim.name", _S, "sub", _claim_name, "The claim that holds the principal's name."),
)  # fmt: skip
_LOGIN: tuple[_Row, ...] = (
    ("sasl.login.callback.handler.class", _CLASS, None, None,
     "Where our own tokens come from, as a Python import path; on a broker per listener and mechanism only."),
    ("sasl.oauthbearer.token.endpoint.url", _S, None, None,
     "Where our own tokens come from: a file:// that holds one, or the http(s):// of a token endpoint."),
    ("sasl.oauthbearer.client.credentials.client.id", _S, None, None,
     "Who we are at the token endpoint; or the login module's clientId."),
    ("sasl.oauthbearer.client.credentials.client.secret", _PW, None, None,
     "How we prove that; or the login module's clientSecret."),
    ("sasl.oauthbearer.scope", _S, None, None, "The scope we ask for; or the login module's scope."),
    ("sasl.oauthbearer.header.urlencode", _B, False, None,
     "Whether id and secret are URL-encoded in the header, as RFC 6749 has it."),
    ("sasl.login.connect.timeout.ms", _I, None, None, "How long connecting to the token endpoint may take; 10 s."),
    ("sasl.login.read.timeout.ms", _I, None, None, "How long its whole answer may take; 10 s."),
    ("sasl.login.retry.backoff.ms", _L, 100, at_least(1), "Wait after no token was had; doubles up to the maximum."),
    ("sasl.login.retry.backoff.max.ms", _L, 10_000, at_least(1), "The longest of these waits."),
    ("sasl.login.refresh.window.factor", _D, 0.8, between(0.5, 1.0), "Share of its life that a token is kept."),
    ("sasl.login.refresh.window.jitter", _D, 0.05, between(0.0, 0.25), "Up to this share later, by chance."),
    ("sasl.login.refresh.min.period.seconds", _I, 60, between(0, 900), "A token is kept at least so long."),
    ("sasl.login.refresh.buffer.seconds", _I, 300, between(0, 3600), "It is renewed so long before its end."),
)  # fmt: skip


def _rows(rows: tuple[_Row, ...]) -> tuple[ConfigRow, ...]:
    return tuple(ConfigRow(name, type_, default, doc, validator) for name, type_, default, validator, doc in rows)


VALIDATION_ROWS = _rows(_VALIDATION)
"""What a broker asks of tokens."""

LOGIN_ROWS = _rows(_LOGIN)
"""How we come by a token of our own."""
