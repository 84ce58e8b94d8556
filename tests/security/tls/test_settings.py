from __future__ import annotations

import pytest

from signalbox.client.config_rows import CLIENT_CONFIG
from signalbox.common.config.config_table import ConfigTable
from signalbox.network.config_rows import NETWORK_CONFIG, PREFIXED_KEYS
from signalbox.security.tls.settings import RENEWABLE_KEYS, TlsSettings, tls_settings


def settings_of(table: ConfigTable, **given: str) -> TlsSettings:
    values, faults = table.read({key.replace("__", "."): value for key, value in given.items()})
    assert not faults

    def text(key: str) -> str:
        value = values.get(key)
        return "" if value is None else str(value)

    def names(key: str) -> list[str]:
        value = values[key]
        assert isinstance(value, list)
        return value

    return tls_settings(text, names)


def test_the_defaults_are_those_of_the_rows() -> None:
    assert settings_of(NETWORK_CONFIG) == TlsSettings()
    assert settings_of(CLIENT_CONFIG, bootstrap__servers="a:1") == TlsSettings(client_auth="")


def test_switches() -> None:
    settings = settings_of(NETWORK_CONFIG, ssl__allow__dn__changes="true", ssl__allow__san__changes="TRUE")
    assert settings.allow_dn_changes
    assert settings.allow_san_changes


@pytest.mark.spec("L5")
def test_every_ssl_key_can_be_set_for_one_listener() -> None:
    assert {row.name for row in NETWORK_CONFIG if row.name.startswith("ssl.")} <= PREFIXED_KEYS
    assert RENEWABLE_KEYS <= PREFIXED_KEYS
