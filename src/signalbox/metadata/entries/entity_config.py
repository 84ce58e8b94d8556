"""`/config/<type>/<name>`: the configs of one entity; `/config/changes/...`: their change notifications."""

from __future__ import annotations

from urllib.parse import quote, unquote

from signalbox.metadata.entries.json_text import BadEntry, decode_json, encode_json
from signalbox.metadata.layout import DEFAULT_ENTITY

Configs = dict[str, str]

_CLIENT_METRICS = "client-metrics"
_GROUPS = "groups"


def encode_configs(configs: Configs) -> bytes:
    """The JSON payload, version 1."""
    return encode_json({"version": 1, "config": configs})


def decode_configs(path: str, data: bytes | None) -> Configs:
    """Names and values; an entry without data has none. BadEntry."""
    if not data:
        return {}
    configs = decode_json(data, path).get("config")
    if not isinstance(configs, dict):
        raise BadEntry(f"{path} holds no configs")
    return {str(name): str(value) for name, value in configs.items()}


def encode_config_change(entity_path: str) -> bytes:
    """The change notification, version 2; `entity_path` is like `topics/flights` or `users/a/clients/b`."""
    return encode_json({"version": 2, "entity_path": entity_path})


def decode_config_change(path: str, data: bytes | None) -> str:
    """The entity path in a change notification; version 1 has type and name as separate fields. BadEntry."""
    payload = decode_json(data, path)
    if "entity_path" in payload:
        return str(payload["entity_path"])
    if payload.get("entity_type") in ("topics", "clients") and "entity_name" in payload:
        return f"{payload['entity_type']}/{payload['entity_name']}"
    raise BadEntry(f"{path} names no entity")


def entity_name(name: str) -> str:
    """A user's or client's name in the form of an entry's name: percent-encoded as by Kafka's Sanitizer, and also `.`
    and `..`, which have another meaning in ZooKeeper."""
    if name in (".", ".."):
        return name.replace(".", "%2E")
    return quote(name, safe="").replace("~", "%7E")


def user_entity(user: str) -> str:
    """The entity path of a user's configs."""
    return f"users/{entity_name(user)}"


def client_metrics_entity(subscription: str) -> str:
    """The entity path of a client metrics subscription."""
    return f"{_CLIENT_METRICS}/{entity_name(subscription)}"


def client_metrics_of(entity_path: str) -> str | None:
    """The client metrics subscription whose configs are at an entity path; None for all other paths."""
    folder, _, name = entity_path.partition("/")
    return unquote(name) if folder == _CLIENT_METRICS else None


def group_entity(group: str) -> str:
    """The entity path of a group's configs."""
    return f"{_GROUPS}/{entity_name(group)}"


def group_of(entity_path: str) -> str | None:
    """The group whose configs are at an entity path; None for all other paths."""
    folder, _, name = entity_path.partition("/")
    return unquote(name) if folder == _GROUPS else None


def user_of(entity_path: str) -> str | None:
    """The user whose configs are at an entity path; None for all other paths, and for `<default>`."""
    folder, _, name = entity_path.partition("/")
    if folder != "users" or "/" in name or name == DEFAULT_ENTITY:
        return None
    return unquote(name)
