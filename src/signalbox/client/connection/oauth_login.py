"""Logins with access tokens from settings: which of four sources the tokens come from.

| `sasl.login.callback.handler.class` | `sasl.oauthbearer.token.endpoint.url` | tokens come from |
|---|---|---|
| a Python import path | - | that class (a `TokenSource`) |
| Kafka's OAuthBearerLoginCallbackHandler, or not set | file:// | the file, read again before its token expires |
| the same | http(s):// | the token endpoint, by client credentials (KIP-768) |
| Kafka's unsecured handler, or not set | not set | the login module's `unsecuredLogin...` options |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from signalbox.client.connection.connection_settings import SaslLogin
from signalbox.client.connection.token_refresher import TokenRefresher
from signalbox.common.config.config_table import ConfigFault, Value
from signalbox.security.class_loading import CallbackClassError, CallbackSettings, load_callback
from signalbox.security.jaas import LoginModule
from signalbox.security.oauth.login_token import (
    LoginToken,
    RefreshWindow,
    TokenSource,
    TokenUnavailable,
    client_credentials_request,
    read_endpoint_answer,
    read_login_token,
)
from signalbox.security.oauth.unsecured import UnsecuredOptionError
from signalbox.security.oauth.unsecured_login import UnsecuredTokens
from signalbox.security.sasl.mechanism import OAUTHBEARER
from signalbox.security.sasl.oauthbearer import OAuthBearerClientExchange
from signalbox.security.tls.contexts import provider_context
from signalbox.security.tls.settings import TlsConfigError
from signalbox.transport.url_fetch import FetchFailed, UrlRequest, fetch, url_problem

URL_KEY = "sasl.oauthbearer.token.endpoint.url"
LOGIN_CALLBACK_KEY = "sasl.login.callback.handler.class"
_JAAS_KEY = "sasl.jaas.config"
_DEFAULT_TIMEOUT_MS = 10_000
_OAUTH = "org.apache.kafka.common.security.oauthbearer."
_FROM_URL = frozenset(
    _OAUTH + each + "OAuthBearerLoginCallbackHandler" for each in ("", "secured.", "internals.secured.")
)
_UNSECURED = frozenset({_OAUTH + "internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"})
_EXTENSION = "extension_"


@dataclass(frozen=True, slots=True)
class LoginParts:
    """`value` returns the typed value of a key (`security/oauth/config_rows.py`), `key_of` the key to name in a fault;
    `callback` is the handler class, "" when none is set. `listener_name` is "" on a client."""

    module: LoginModule
    value: Callable[[str], Value]
    key_of: Callable[[str], str]
    callback: str
    listener_name: str
    configs: Mapping[str, str]
    faults: list[ConfigFault]

    def text(self, key: str) -> str:
        value = self.value(key)
        return "" if value is None else str(value)

    def number(self, key: str) -> float:
        value = self.value(key)
        assert isinstance(value, int | float)
        return value

    def fault(self, key: str, entry: str, problem: str, remedy: str) -> None:
        self.faults.append(ConfigFault(self.key_of(key), entry, problem, remedy))


def oauth_login(parts: LoginParts) -> SaslLogin | None:
    """The login; None after faults were added to `parts`. No token is requested before the first connection."""
    source = _source(parts)
    extensions = {
        key.removeprefix(_EXTENSION): text for key, text in parts.module.options.items() if key.startswith(_EXTENSION)
    }
    try:
        OAuthBearerClientExchange(lambda: "", extensions).first()
    except ValueError as error:
        parts.fault(_JAAS_KEY, "", str(error), "Correct the option of the login module")
        return None
    if source is None:
        return None
    refresher = TokenRefresher(
        source,
        RefreshWindow(
            factor=parts.number("sasl.login.refresh.window.factor"),
            jitter=parts.number("sasl.login.refresh.window.jitter"),
            min_period=parts.number("sasl.login.refresh.min.period.seconds"),
            buffer=parts.number("sasl.login.refresh.buffer.seconds"),
        ),
        parts.number("sasl.login.retry.backoff.ms") / 1000,
        parts.number("sasl.login.retry.backoff.max.ms") / 1000,
    )
    return SaslLogin(OAUTHBEARER, lambda: OAuthBearerClientExchange(refresher.show, extensions), refresher.ready)


def _source(parts: LoginParts) -> TokenSource | None:
    handler, url, options = parts.callback, parts.text(URL_KEY), parts.module.options
    if handler in _UNSECURED or (not handler and not url and UnsecuredTokens.wanted(options)):
        try:
            return UnsecuredTokens(options)
        except UnsecuredOptionError as error:
            parts.fault(_JAAS_KEY, "", str(error), "Correct the options of the login module")
            return None
    if handler and handler not in _FROM_URL:
        settings = CallbackSettings(parts.listener_name, OAUTHBEARER, options, parts.configs)
        try:
            source: Any = load_callback(handler, settings, ("token",))
        except CallbackClassError as error:
            parts.fault(LOGIN_CALLBACK_KEY, handler, str(error), "Name a Python class as package.module:Class")
            return None
        return source  # type: ignore[no-any-return]
    if not url:
        remedy = f"Name a file:// with a token or an http(s):// token endpoint, or set {LOGIN_CALLBACK_KEY}"
        parts.fault(URL_KEY, "", "is missing: there is no token to log in with", remedy)
        return None
    problem = url_problem(url)
    if problem is not None:
        parts.fault(URL_KEY, url, problem, "Expected file://, http:// or https://")
        return None
    return FileTokens(url) if url.startswith("file:") else _endpoint(parts, url)


def _endpoint(parts: LoginParts, url: str) -> TokenSource | None:
    options = parts.module.options
    client_id = parts.text("sasl.oauthbearer.client.credentials.client.id") or options.get("clientId", "")
    secret = parts.text("sasl.oauthbearer.client.credentials.client.secret") or options.get("clientSecret", "")
    if not client_id or not secret:
        remedy = 'Add clientId="..." clientSecret="..." to it, or set sasl.oauthbearer.client.credentials.*'
        parts.fault(_JAAS_KEY, "", "has no clientId and clientSecret for the token endpoint", remedy)
        return None
    if url.startswith("https:"):
        try:
            provider_context(options)
        except TlsConfigError as error:
            parts.fault(_JAAS_KEY, error.key, error.problem, "Correct the ssl option of the login module")
            return None
    headers, body = client_credentials_request(
        client_id,
        secret,
        parts.text("sasl.oauthbearer.scope") or options.get("scope", ""),
        url_encoded=bool(parts.value("sasl.oauthbearer.header.urlencode")),
    )
    connect_ms, read_ms = parts.value("sasl.login.connect.timeout.ms"), parts.value("sasl.login.read.timeout.ms")
    return EndpointTokens(
        UrlRequest(
            url=url,
            headers=headers,
            body=body,
            connect_timeout_s=(connect_ms if isinstance(connect_ms, int) else _DEFAULT_TIMEOUT_MS) / 1000,
            deadline_s=(read_ms if isinstance(read_ms, int) else _DEFAULT_TIMEOUT_MS) / 1000,
            tls=lambda: provider_context(options),
        )
    )


class EndpointTokens:
    """A TokenSource: the token endpoint of an identity provider."""

    def __init__(self, request: UrlRequest) -> None:
        self._request = request

    def token(self) -> LoginToken:
        try:
            return read_endpoint_answer(fetch(self._request))
        except FetchFailed as error:
            raise TokenUnavailable(f"the token endpoint {self._request.url.partition('?')[0]} {error}") from None


class FileTokens:
    """A TokenSource: a file that another program keeps up to date."""

    def __init__(self, url: str) -> None:
        self._url = url

    def token(self) -> LoginToken:
        try:
            return read_login_token(fetch(UrlRequest(url=self._url, deadline_s=1)).decode())
        except FetchFailed as error:
            raise TokenUnavailable(f"the token file {self._url} {error}") from None
        except UnicodeDecodeError:
            raise TokenUnavailable(f"the token file {self._url} holds no text") from None
