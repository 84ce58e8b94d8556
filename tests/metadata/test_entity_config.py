"""Configs of entities, and the news of their change."""

from __future__ import annotations

import pytest

from signalbox.metadata import entity_config as config
from signalbox.metadata.json_text import BadEntry


def test_payloads_are_kafkas() -> None:
    assert config.encode_configs({"retention.ms": "1"}) == b'{"version":1,"config":{"retention.ms":"1"}}'
    assert config.encode_config_change("users/a/clients/b") == b'{"version":2,"entity_path":"users/a/clients/b"}'


def test_reading() -> None:
    assert config.decode_configs("/c", b'{"version":1,"config":{"a":"b"}}') == {"a": "b"}
    assert config.decode_configs("/c", None) == {}
    assert config.decode_config_change("/n", b'{"version":2,"entity_path":"topics/t"}') == "topics/t"
    assert config.decode_config_change("/n", b'{"version":1,"entity_type":"topics","entity_name":"t"}') == "topics/t"


def test_bad_payloads_are_named() -> None:
    with pytest.raises(BadEntry, match="/c"):
        config.decode_configs("/c", b'{"config":[]}')
    for data in (b"", b"{}", b'{"version":1,"entity_type":"users","entity_name":"u"}'):
        with pytest.raises(BadEntry, match="/n"):
            config.decode_config_change("/n", data)
