"""Builds the SASL mechanisms that a listener offers, from its settings and a login module.

OAUTHBEARER: tokens are validated with the keys of `sasl.oauthbearer.jwks.endpoint.url`. Kafka accepts unsigned tokens
by default; here they are accepted only if the handler class for them is configured. Kafka's Java names of both handlers
are accepted; any other name is a Python import path (`security/class_loading.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from signalbox.common.config.config_table import ConfigFault, format_value
from signalbox.network.listeners.network_settings import ListenerSettings
from signalbox.network.sasl.jwks_refresher import JwksRefresher, RefreshTimes
from signalbox.security.class_loading import CallbackClassError, CallbackSettings, load_callback
from signalbox.security.jaas import LoginModule
from signalbox.security.oauth.claims import TokenRules
from signalbox.security.oauth.key_set import KeySetError
from signalbox.security.oauth.signed import SignedTokenValidator
from signalbox.security.oauth.unsecured import UnsecuredOptionError, UnsecuredTokenValidator
from signalbox.security.sasl.derived_credentials import JaasScramCredentials
from signalbox.security.sasl.mechanism import OAUTHBEARER, PLAIN, SCRAM_MECHANISMS, SaslMechanism
from signalbox.security.sasl.oauthbearer import OAuthBearerMechanism
from signalbox.security.sasl.plain import ListedPasswords, PlainMechanism
from signalbox.security.sasl.scram import ScramCredentials, ScramMechanism
from signalbox.security.tls.contexts import provider_context
from signalbox.security.tls.settings import TlsConfigError
from signalbox.transport.url_fetch import FetchFailed, UrlRequest, url_problem

CALLBACK_KEY = "sasl.server.callback.handler.class"
JWKS_URL_KEY = "sasl.oauthbearer.jwks.endpoint.url"
_FETCH_DEADLINE_S = 10.0
_OAUTH = "org.apache.kafka.common.security.oauthbearer."
_SIGNED = frozenset(
    _OAUTH + package + "OAuthBearerValidatorCallbackHandler" for package in ("", "secured.", "internals.secured.")
)
_UNSECURED = frozenset({_OAUTH + "internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"})
_PLAIN_OWN = frozenset({"org.apache.kafka.common.security.plain.internals.PlainServerCallbackHandler"})


@dataclass(frozen=True, slots=True)
class MechanismContext:
    """The input of a mechanism's builder. The builder adds faults to `faults`, and refreshers, which run in the
    background once the listener serves, to `refreshers`."""

    listener_name: str
    mechanism: str
    settings: ListenerSettings
    module: LoginModule
    scram_credentials: ScramCredentials
    faults: list[ConfigFault]
    refreshers: list[JwksRefresher]

    def key(self, key: str) -> str:
        """The full name of `key` for this mechanism of this listener."""
        return f"listener.name.{self.listener_name.lower()}.{self.mechanism.lower()}.{key}"

    def text(self, key: str) -> str:
        return format_value(self.settings.of_mechanism(self.mechanism, key)) or ""

    def number(self, key: str) -> int:
        value = self.settings.of_mechanism(self.mechanism, key)
        assert isinstance(value, int)
        return value

    def names(self, key: str) -> list[str]:
        value = self.settings.of_mechanism(self.mechanism, key)
        assert isinstance(value, list)
        return value

    def fault(self, key: str, entry: str, problem: str, remedy: str) -> None:
        self.faults.append(ConfigFault(self.key(key), entry, problem, remedy))


def build_mechanism(context: MechanismContext) -> SaslMechanism | None:
    """The mechanism; None when it cannot be offered, with the reason in `context.faults`."""
    return _BUILDERS[context.mechanism](context)


def _plain(context: MechanismContext) -> SaslMechanism | None:
    handler = context.settings.for_mechanism(context.mechanism, CALLBACK_KEY)
    if handler is None or handler in _PLAIN_OWN:
        return PlainMechanism(ListedPasswords(context.module.users))
    verifier = _callback(context, handler, ("check_password",))
    return None if verifier is None else PlainMechanism(verifier, blocking=True)


def _scram(context: MechanismContext) -> SaslMechanism | None:
    if context.settings.for_mechanism(context.mechanism, CALLBACK_KEY) is not None:
        context.fault(CALLBACK_KEY, "", "has no effect on SCRAM", "SCRAM users are in the metadata: take the key away")
    credentials = JaasScramCredentials(context.mechanism, context.module.users, context.scram_credentials)
    return ScramMechanism(context.mechanism, credentials)


def _oauthbearer(context: MechanismContext) -> SaslMechanism | None:
    handler = context.settings.for_mechanism(context.mechanism, CALLBACK_KEY)
    if handler in _UNSECURED:
        try:
            return OAuthBearerMechanism(UnsecuredTokenValidator(context.module.options))
        except UnsecuredOptionError as error:
            context.fault("sasl.jaas.config", "", str(error), "Correct the login module's option")
            return None
    if handler is not None and handler not in _SIGNED:
        validator = _callback(context, handler, ("validate", "rejected_extensions"))
        return None if validator is None else OAuthBearerMechanism(validator, blocking=True)
    refresher = _build_refresher(context)
    if refresher is None:
        return None
    rules = TokenRules(
        audience=tuple(context.names("sasl.oauthbearer.expected.audience")),
        issuer=context.text("sasl.oauthbearer.expected.issuer"),
        scopes=frozenset(context.names("signalbox.sasl.oauthbearer.expected.scope")),
        clock_skew_seconds=context.number("sasl.oauthbearer.clock.skew.seconds"),
        scope_claim=context.text("sasl.oauthbearer.scope.claim.name").strip(),
        subject_claim=context.text("sasl.oauthbearer.sub.claim.name").strip(),
    )
    return OAuthBearerMechanism(SignedTokenValidator(refresher, rules))


def _build_refresher(context: MechanismContext) -> JwksRefresher | None:
    url = context.text(JWKS_URL_KEY)
    if not url:
        context.fault(
            JWKS_URL_KEY,
            "",
            f"is missing: {context.listener_name} could not validate tokens",
            f"Set the URL of the issuer's keys (file://, http://, https://), or set {CALLBACK_KEY}; unsigned tokens"
            f" are accepted only with {next(iter(_UNSECURED))}",
        )
        return None
    problem = url_problem(url) or _crypto_problem()
    if problem is not None:
        context.fault(JWKS_URL_KEY, url, problem, "Expected the URL of a JWK set")
        return None
    refresher = JwksRefresher(
        UrlRequest(url=url, deadline_s=_FETCH_DEADLINE_S, tls=lambda: provider_context(context.module.options)),
        RefreshTimes(
            refresh=context.number("sasl.oauthbearer.jwks.endpoint.refresh.ms") / 1000,
            backoff=context.number("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms") / 1000,
            backoff_max=context.number("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms") / 1000,
        ),
    )
    try:
        if url.startswith("https:"):
            provider_context(context.module.options)
        if url.startswith("file:"):
            refresher.fetch_now()
    except TlsConfigError as error:
        context.fault("sasl.jaas.config", error.key, error.problem, "Correct the login module's ssl option")
        return None
    except (FetchFailed, KeySetError) as error:
        context.fault(JWKS_URL_KEY, url, str(error), "Name a file with a JWK set that this process may read")
        return None
    context.refreshers.append(refresher)
    return refresher


def _crypto_problem() -> str | None:
    packages = {"jwt": "pyjwt", "cryptography": "cryptography"}
    missing = [package for module, package in packages.items() if find_spec(module) is None]
    return f"needs the extra security: pip install {' '.join(missing)}" if missing else None


def _callback(context: MechanismContext, path: str, methods: tuple[str, ...]) -> Any:
    prefix = f"{context.mechanism.lower()}."
    configs = {
        key.removeprefix(prefix): text for key, text in context.settings.by_mechanism.items() if key.startswith(prefix)
    }
    settings = CallbackSettings(context.listener_name, context.mechanism, context.module.options, configs)
    try:
        return load_callback(path, settings, methods)
    except CallbackClassError as error:
        context.fault(CALLBACK_KEY, path, str(error), "Name a Python class as package.module:Class")
        return None


_BUILDERS: Mapping[str, Callable[[MechanismContext], SaslMechanism | None]] = {
    PLAIN: _plain,
    **dict.fromkeys(SCRAM_MECHANISMS, _scram),
    OAUTHBEARER: _oauthbearer,
}
SUPPORTED_MECHANISMS = tuple(_BUILDERS)
