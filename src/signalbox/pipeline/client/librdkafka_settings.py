"""Client properties for librdkafka (profile `pypi`, and every request of the pipeline outside Spark).

Keys without a counterpart are left out. Stores become PEM texts (a PEM file stays a file: only from a file librdkafka
takes intermediate certificates), so PKCS12 stores work as in Java. Settings are JSON values, since they travel to
Spark's workers: where a login needs a callback, `login_tokens.py` makes it from its description at TOKEN_SOURCE.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from signalbox.pipeline.client.librdkafka_values import accepted_values
from signalbox.pipeline.client.login_tokens import FILE, TOKEN_SOURCE, UNSECURED
from signalbox.pipeline.client.properties import (
    CALLBACK,
    CREDENTIALS,
    DEFAULT_MECHANISM,
    MECHANISM,
    OAUTHBEARER,
    PROPERTIES,
    PROTOCOL,
    SCOPE,
    TOKEN_URL,
    Login,
    login_of,
    usable,
)
from signalbox.security.oauth.unsecured import UnsecuredOptionError
from signalbox.security.oauth.unsecured_login import UnsecuredTokens
from signalbox.security.tls.settings import TlsConfigError, tls_settings
from signalbox.security.tls.stores import open_stores

_OIDC = "sasl.oauthbearer."
_PKCS12 = b"\x30"  # the first byte of a store in DER


class ClientPropertyError(ValueError):
    """Client properties that the pipeline cannot use. The message names the key."""


def librdkafka_settings(properties: Mapping[str, str]) -> dict[str, str]:
    """librdkafka's settings for these properties. Raises ClientPropertyError."""
    java = usable(properties)
    try:
        accepted = accepted_values(java)
    except ValueError as error:
        raise ClientPropertyError(str(error)) from error
    settings = {PROPERTIES[key]: value for key, value in accepted.items() if key in PROPERTIES}
    protocol = java.get(PROTOCOL, "PLAINTEXT").upper()
    if protocol.endswith("SSL"):
        settings |= _tls(java)
    if protocol.startswith("SASL"):
        settings[MECHANISM] = java.get(MECHANISM, DEFAULT_MECHANISM)
        settings |= _login(java)
    return settings


def _tls(java: Mapping[str, str]) -> dict[str, str]:
    defaults = {"ssl.keystore.type": "PEM", "ssl.truststore.type": "PEM"}
    try:
        stores = open_stores(tls_settings(lambda key: java.get(key) or defaults.get(key, ""), lambda _: []))
    except TlsConfigError as error:
        raise ClientPropertyError(str(error)) from error
    settings = {"ssl.ca.pem": stores.trusted} if stores.trusted else {}
    entry = stores.key_entry
    if entry is None:
        return settings
    if entry.source == "ssl.keystore.location" and Path(java[entry.source]).read_bytes()[:1] != _PKCS12:
        settings |= {"ssl.certificate.location": java[entry.source], "ssl.key.location": java[entry.source]}
    else:
        settings |= {"ssl.certificate.pem": entry.chain, "ssl.key.pem": entry.private_key}
    return settings | ({"ssl.key.password": entry.password} if entry.password else {})


def _login(java: Mapping[str, str]) -> dict[str, str]:
    login = login_of(java)
    if login is None:
        if java[MECHANISM] == "GSSAPI":
            return {}
        raise ClientPropertyError(f"{MECHANISM} is {java[MECHANISM]}: the pipeline has no login for it")
    options = login.module.options
    if login.mechanism == OAUTHBEARER:
        return _token_login(java, login)
    if options.get("tokenauth", "").lower() == "true":
        raise ClientPropertyError("sasl.jaas.config: tokenauth: the pipeline cannot log in with a delegation token")
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _token_login(java: Mapping[str, str], login: Login) -> dict[str, str]:
    options, url, callback = login.module.options, java.get(TOKEN_URL, ""), java.get(CALLBACK, "")
    if callback and not callback.startswith("org.apache.kafka."):
        raise ClientPropertyError(f"{CALLBACK}: a run takes tokens from {TOKEN_URL}, not from a class")
    if url.startswith("file:"):
        return {TOKEN_SOURCE: json.dumps({FILE: url})}
    if not url:
        try:
            UnsecuredTokens(options)
        except UnsecuredOptionError as error:
            raise ClientPropertyError(f"{TOKEN_URL} is missing, and the login module's {error}") from None
        return {TOKEN_SOURCE: json.dumps({UNSECURED: dict(options)})}
    client_id = java.get(f"{CREDENTIALS}id") or options.get("clientId", "")
    secret = java.get(f"{CREDENTIALS}secret") or options.get("clientSecret", "")
    if not client_id or not secret:
        raise ClientPropertyError("sasl.jaas.config: clientId and clientSecret for the token endpoint are missing")
    settings = {
        f"{_OIDC}method": "oidc",
        f"{_OIDC}token.endpoint.url": url,
        f"{_OIDC}client.id": client_id,
        f"{_OIDC}client.secret": secret,
    }
    scope = java.get(SCOPE) or options.get("scope", "")
    return {**settings, f"{_OIDC}scope": scope} if scope else settings
