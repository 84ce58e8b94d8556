"""The keys of access tokens: Kafka's names, types and defaults (KIP-768), and one of ours (`expected.scope`).

On a broker each can be set for everything, for a listener, and for a listener's mechanism
(`listener.name.<listener>.oauthbearer.<key>`); the narrower one counts.
"""

from __future__ import annotations

from signalbox.common.config_table import ConfigRow, ConfigType, Validator, Value, at_least

_S, _I, _L, _LIST = ConfigType.STRING, ConfigType.INT, ConfigType.LONG, ConfigType.LIST
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


def _rows(rows: tuple[_Row, ...]) -> tuple[ConfigRow, ...]:
    return tuple(ConfigRow(name, type_, default, doc, validator) for name, type_, default, validator, doc in rows)


VALIDATION_ROWS = _rows(_VALIDATION)
"""What a broker asks of tokens."""
