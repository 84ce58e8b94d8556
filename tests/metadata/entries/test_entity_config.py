"""Configs of entities, and the notifications of their changes."""

from __future__ import annotations

import pytest

from signalbox.metadata.entries import entity_config as config
from signalbox.metadata.entries.json_text import BadEntry


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


@pytest.mark.parametrize(
    ("user", "entity"),
    [
        ("alice", "users/alice"),
        ("CN=a b,O=x*~é/+", "users/CN%3Da%20b%2CO%3Dx%2A%7E%C3%A9%2F%2B"),
        ("<default>", "users/%3Cdefault%3E"),
        ("..", "users/%2E%2E"),
    ],
)
def test_users_by_entity_path(user: str, entity: str) -> None:
    assert config.user_entity(user) == entity
    assert config.user_of(entity) == user


@pytest.mark.parametrize("path", ["users/<default>", "users/a/clients/b", "topics/t", "clients/a"])
def test_paths_of_other_entities_have_no_user(path: str) -> None:
    assert config.user_of(path) is None
