"""Client properties for Java's client inside Spark's connector (profile `jars`): the same keys, after `kafka.`.

Three things differ between the clients of this project and kafka-clients 3.9, which Spark 4.2 brings; a file that is
valid for the other commands must be valid here:

- stores are PEM unless a type is set, and a PKCS12 store is recognized by its content (Java's default is JKS);
- `sasl.oauthbearer.client.credentials.*` and `sasl.oauthbearer.scope` (KIP-1139, Kafka 4.1) are options of the login
  module in older clients;
- a token endpoint needs no callback class (Java's default class makes unsigned tokens).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from signalbox.pipeline.client.properties import (
    CALLBACK,
    CREDENTIALS,
    DEFAULT_MECHANISM,
    JAAS,
    MECHANISM,
    OAUTHBEARER,
    PROTOCOL,
    SCOPE,
    TOKEN_URL,
    Login,
    login_of,
    usable,
)

PREFIX = "kafka."
TOKEN_CALLBACK = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"

_KEYS_OF_OPTIONS = {f"{CREDENTIALS}id": "clientId", f"{CREDENTIALS}secret": "clientSecret", SCOPE: "scope"}
_STORES = {"ssl.keystore": "ssl.keystore.key", "ssl.truststore": "ssl.truststore.certificates"}
_STORE_TYPES = {b"\x30": "PKCS12", b"\xfe": "JKS", b"\xce": "JCEKS"}  # by the first byte of the file


def java_settings(properties: Mapping[str, str]) -> dict[str, str]:
    """The options of Spark's connector for these properties, with their prefix."""
    settings = usable(properties)
    for store, text_key in _STORES.items():
        kind = _store_type(settings.get(f"{store}.location", ""), settings.get(text_key, ""))
        if kind is not None:
            settings[f"{store}.type"] = kind
    if settings.get(PROTOCOL, "").upper().startswith("SASL"):
        settings.setdefault(MECHANISM, DEFAULT_MECHANISM)
    login = login_of(settings)
    if login is not None and login.mechanism == OAUTHBEARER:
        settings |= _token_settings(settings, login)
    return {f"{PREFIX}{key}": value for key, value in settings.items()}


def _store_type(location: str, text: str) -> str | None:
    if text:
        return "PEM"
    if not location:
        return None
    try:
        with Path(location).open("rb") as file:
            return _STORE_TYPES.get(file.read(1), "PEM")
    except OSError:  # Java's client reports it, with the key
        return None


def _token_settings(settings: Mapping[str, str], login: Login) -> dict[str, str]:
    options = dict(login.module.options)
    for key, option in _KEYS_OF_OPTIONS.items():
        if settings.get(key):
            options.setdefault(option, settings[key])
    words = "".join(f' {name}="{_escaped(value)}"' for name, value in options.items())
    changed = {JAAS: f"{login.module.name} {login.module.flag}{words};"}
    if settings.get(TOKEN_URL) and not settings.get(CALLBACK):
        changed[CALLBACK] = TOKEN_CALLBACK
    return changed


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
