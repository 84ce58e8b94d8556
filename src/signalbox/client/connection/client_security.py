"""From a client's properties to the security of its connections: TLS contexts and SASL logins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from signalbox.client.connection.connection_settings import ConnectionSecurity, OutboundTls, SaslLogin
from signalbox.common.config.config_table import ConfigFault, Value
from signalbox.common.endpoint import SecurityProtocol
from signalbox.security.jaas import MODULE_OF_MECHANISM, JaasError, parse_jaas_config
from signalbox.security.sasl.mechanism import OAUTHBEARER, PLAIN
from signalbox.security.sasl.plain import PlainClientExchange
from signalbox.security.sasl.scram import ScramClientExchange
from signalbox.security.tls.contexts import client_context
from signalbox.security.tls.settings import TlsConfigError, tls_settings


def sasl_login(mechanism: str, username: str, password: str, token_auth: bool = False) -> SaslLogin:
    """User name and password for PLAIN or one of the SCRAM mechanisms. With `token_auth` (SCRAM) they are the id and
    HMAC of a delegation token."""
    if mechanism == PLAIN:
        return SaslLogin(mechanism, lambda: PlainClientExchange(username, password))
    return SaslLogin(mechanism, lambda: ScramClientExchange(mechanism, username, password, token_auth=token_auth))


def security_of(values: Mapping[str, Value]) -> tuple[ConnectionSecurity, list[ConfigFault]]:
    """The security that typed client properties (`config_rows.py`) configure, and the faults in them."""
    protocol = SecurityProtocol[str(values["security.protocol"])]
    faults: list[ConfigFault] = []
    tls = _tls(values, faults) if protocol.uses_tls else None
    login = _login(values, faults) if protocol.uses_sasl else None
    return ConnectionSecurity(tls, login), faults


def _tls(values: Mapping[str, Value], faults: list[ConfigFault]) -> OutboundTls | None:
    def text(key: str) -> str:
        return str(values.get(key) or "")

    def names(key: str) -> list[str]:
        value: Any = values.get(key)
        return list(value or ())

    try:
        return OutboundTls(client_context(tls_settings(text, names)))
    except TlsConfigError as error:
        faults.append(ConfigFault(error.key, "", error.problem, "PEM files and PKCS12 stores are read"))
        return None


def _login(values: Mapping[str, Value], faults: list[ConfigFault]) -> SaslLogin | None:
    key, mechanism = "sasl.jaas.config", str(values["sasl.mechanism"])
    needs = "..." if mechanism == OAUTHBEARER else 'username="…" password="…"'
    remedy = f"Expected `{MODULE_OF_MECHANISM[mechanism]} required {needs};`"
    try:
        module = parse_jaas_config(str(values[key] or ""))
    except JaasError as error:
        faults.append(ConfigFault(key, "", str(error), remedy))
        return None
    if mechanism not in module.mechanisms:
        faults.append(ConfigFault(key, module.name, f"is not the login module of {mechanism}", remedy))
        return None
    if mechanism == OAUTHBEARER:
        callback = values["sasl.login.callback.handler.class"]
        from signalbox.client.connection.oauth_login import LoginParts, oauth_login  # most clients need none of it

        return oauth_login(LoginParts(module, values.__getitem__, str, str(callback or ""), "", {}, faults))
    if not module.options.get("username") or "password" not in module.options:
        faults.append(ConfigFault(key, module.name, "lacks username or password", remedy))
        return None
    by_token = module.options.get("tokenauth", "").lower() == "true"
    return sasl_login(mechanism, module.options["username"], module.options["password"], by_token)
