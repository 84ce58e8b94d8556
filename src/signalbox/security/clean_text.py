"""Texts of the network made safe to print: no secrets, no control characters, no endless lines.

A server may send anything as an error message, a host name or a certificate's subject: the password that the client has
just sent, in plain or encoded, or escape sequences of terminals. So each text passes here before it is kept.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
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
_HIDDEN_CATEGORIES = ("Cc", "Cf", "Cn", "Cs", "Co", "Zl", "Zp")
_SHORT = 3  # a secret of so few characters is in many words: it is hidden as a word of its own only
_MIN_BASE64 = 5


class TextCleaner:
    """`secrets` are the texts that are never printed, in any of the usual encodings."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms: set[str] = set()
        self._longest = 0
        self._pattern: re.Pattern[str] | None = None
        for secret in secrets:
            self.hide(secret)

    def hide(self, secret: str) -> None:
        """One more secret, known only now: an access token."""
        forms = set(_forms(secret)) if secret else set()
        if forms <= self._forms:
            return
        self._forms |= forms
        rows = sorted(self._forms, key=len, reverse=True)
        self._longest = len(rows[0])
        self._pattern = re.compile("|".join(map(_expression, rows)))

    def clean(self, text: object, limit: int = MAX_TEXT) -> str:
        """`text` as one line of at most `limit` characters that can be printed. Only so much of it is read."""
        given = str(text)
        line = _printable(given[: limit + self._longest])
        parts, position = [], 0
        for match in self._pattern.finditer(line) if self._pattern is not None else ():
            if match.start() >= limit:
                break
            parts += [line[position : match.start()], REDACTED]
            position = match.end()
        cleaned = "".join((*parts, line[position:limit]))
        return cleaned if len(given) <= limit >= len(cleaned) else f"{cleaned[: limit - 3]}..."


def clean_name(text: object, limit: int = MAX_TEXT) -> str:
    """A host name, a topic or an id as one line that can be printed. Secrets stay: a name with a hidden part is another
    name, so a healthy cluster would have findings, and the report would show what the password is."""
    return TextCleaner().clean(text, limit)


def _printable(text: str) -> str:
    return "".join("?" if unicodedata.category(char) in _HIDDEN_CATEGORIES else char for char in text)


def _expression(form: str) -> str:
    return rf"(?<!\w){re.escape(form)}(?!\w)" if len(form) <= _SHORT else re.escape(form)


def _forms(secret: str) -> Iterator[str]:
    """The secret as it is, and as Base64, hexadecimal and URL encoding show it: on its own, and inside of a longer
    text that was encoded as a whole, as the name and the password of PLAIN are."""
    yield _printable(secret)
    if len(secret) <= _SHORT:
        return
    data = secret.encode("utf-8", "surrogatepass")
    yield from (data.hex(), data.hex().upper(), quote(secret, safe=""))
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield from (encode(data).decode(), encode(data).decode().rstrip("="))
        for before in range(3):  # 6 bits per character: those with bits of other bytes are left out
            inner = encode(bytes(before) + data).decode()[-(-8 * before // 6) : 8 * (before + len(data)) // 6]
            if len(inner) >= _MIN_BASE64:
                yield inner


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
