"""Texts of the network made safe to print: no secrets, no control characters, no endless lines.

A server may send anything as an error message, a host name or a certificate's subject: the password that the client has
just sent, in plain or encoded, or escape sequences of terminals. So each text passes here before it is kept.
"""

from __future__ import annotations

import base64
import unicodedata
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from signalbox.security.jaas import JaasError, parse_jaas_config

REDACTED = "[hidden]"
MAX_TEXT = 400
_SECRET_KEYS = (
    "ssl.key.password",
    "ssl.keystore.password",
    "ssl.truststore.password",
    "ssl.keystore.key",
    "sasl.oauthbearer.client.credentials.client.secret",
)
_SECRET_OPTIONS = ("password", "clientSecret", "oauth.client.secret", "token")
_HIDDEN_CATEGORIES = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


class TextCleaner:
    """`secrets` are the texts that are never printed, in any of the usual encodings."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets if secret for form in _forms(secret)}
        self._secrets = sorted(forms, key=len, reverse=True)

    def clean(self, text: object, limit: int = MAX_TEXT) -> str:
        """`text` as one line of at most `limit` characters that can be printed."""
        line = "".join("?" if unicodedata.category(char) in _HIDDEN_CATEGORIES else char for char in str(text))
        for secret in self._secrets:
            line = line.replace(secret, REDACTED)
        return line if len(line) <= limit else f"{line[: limit - 3]}..."


def _forms(secret: str) -> list[str]:
    """The secret as it is, and as Base64, hexadecimal and URL encoding show it."""
    data = secret.encode("utf-8", "surrogatepass")
    encoded = base64.b64encode(data).decode()
    url_safe = base64.urlsafe_b64encode(data).decode()
    forms = [secret, encoded, encoded.rstrip("="), url_safe, url_safe.rstrip("="), data.hex(), quote(secret, safe="")]
    return forms if len(secret) > 2 else forms[:1]


def secrets_of(properties: Mapping[str, str]) -> list[str]:
    """The secrets in client properties."""
    secrets = [properties[key] for key in _SECRET_KEYS if properties.get(key)]
    jaas = properties.get("sasl.jaas.config")
    if jaas:
        try:
            options = parse_jaas_config(jaas).options
        except JaasError:
            options = {}
        secrets += [options[name] for name in _SECRET_OPTIONS if options.get(name)]
        secrets += [value for name, value in options.items() if "secret" in name.lower() or "password" in name.lower()]
    return secrets
