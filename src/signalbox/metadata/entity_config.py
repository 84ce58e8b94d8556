"""`/config/<type>/<name>`: the configs of one entity; `/config/changes/...`: the news that they changed."""

from __future__ import annotations

from urllib.parse import quote, unquote

from signalbox.metadata.json_text import BadEntry, decode_json, encode_json
from signalbox.metadata.layout import DEFAULT_ENTITY

Configs = dict[str, str]

_CLIENT_METRICS = "client-metrics"


def encode_configs(configs: Configs) -> bytes:
    """The JSON payload, version 1."""
    return encode_json({"version": 1, "config": configs})


def decode_configs(path: str, data: bytes | None) -> Configs:
    """Names and values; an entry without data has none."""
    if not data:
        return {}
    configs = decode_json(data, path).get("config")
    if not isinstance(configs, dict):
        raise BadEntry(f"{path} holds no configs")
    return {str(name): str(value) for name, value in configs.items()}


def encode_config_change(entity_path: str) -> bytes:
    """The news, version 2; `entity_path` is like `topics/flights` or `users/a/clients/b`."""
    return encode_json({"version": 2, "entity_path": entity_path})


def decode_config_change(path: str, data: bytes | None) -> str:
    """The entity path of a piece of news; version 1 named type and entity apart."""
    payload = decode_json(data, path)
    if "entity_path" in payload:
        return str(payload["entity_path"])
    if payload.get("entity_type") in ("topics", "clients") and "entity_name" in payload:
        return f"{payload['entity_type']}/{payload['entity_name']}"
    raise BadEntry(f"{path} names no entity")


def entity_name(name: str) -> str:
    """A user's or client's name as an entry can be called: percent-encoded as Kafka's Sanitizer does, and besides what
    ZooKeeper has another meaning for (`.` and `..`)."""
    if name in (".", ".."):
        return name.replace(".", "%2E")
    return quote(name, safe="").replace("~", "%7E")


def user_entity(user: str) -> str:
    """The entity path of a user's configs."""
    return f"users/{entity_name(user)}"


def client_metrics_entity(subscription: str) -> str:
    """The entity path of a subscription to clients' metrics."""
    return f"{_CLIENT_METRICS}/{entity_name(subscription)}"


def client_metrics_of(entity_path: str) -> str | None:
    """The subscription whose configs stand at an entity path; None for all others."""
    folder, _, name = entity_path.partition("/")
    return unquote(name) if folder == _CLIENT_METRICS else None


def user_of(entity_path: str) -> str | None:
    """The user whose configs stand at an entity path; None for all others, and for `<default>`."""
    folder, _, name = entity_path.partition("/")
    if folder != "users" or "/" in name or name == DEFAULT_ENTITY:
        return None
    return unquote(name)
