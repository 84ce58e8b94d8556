"""Names that this project's own configuration keys had before they began with `signalbox.`.

A key with its old name is read as the new key for one release, with a warning. One of them can be a listener's own key
(`listener.name.<listener>.<mechanism>.<key>`). Kafka's keys and the names from KIPs never had the prefix.
"""

from __future__ import annotations

from collections.abc import Mapping

_PREFIX = "signalbox."
_LISTENER_PREFIX = "listener.name."
_OF_LISTENERS = "sasl.oauthbearer.expected.scope"
OLD_NAMES = (
    "audit.enable",
    "audit.topic.partitions",
    "audit.topic.replication.factor",
    "audit.topic.retention.ms",
    "authorizer.forwarded.acl.changes.from",
    "broker.principal.changes.on.client.listeners.enable",
    "cluster.id.policy",
    "connection.setup.timeout.ms",
    "connection.write.stall.timeout.ms",
    "data.plane.measure.polls",
    "data.plane.slice.us",
    "forwarded.api.versions.max",
    "metadata.store",
    "metrics.http.host",
    "metrics.http.port",
    "sasl.jaas.file",
    "sasl.oauthbearer.expected.scope",
)


def current_name(key: str) -> str:
    """The name of a key today; a key that was not renamed is returned as it is."""
    if key in OLD_NAMES:
        return _PREFIX + key
    if key.startswith(_LISTENER_PREFIX) and key.endswith(f".{_OF_LISTENERS}"):
        before = key.removesuffix(_OF_LISTENERS).removesuffix(_PREFIX)
        return f"{before}{_PREFIX}{_OF_LISTENERS}"
    return key


def old_name_warning(name: str) -> str:
    """The warning about a key that is given by its old name."""
    return f"{name} is the old name of {current_name(name)}: the next release does not read it"


def with_old_names(values: Mapping[str, str]) -> dict[str, str]:
    """The same values in the same order; renamed keys have their old names."""
    return {_old_name(key): value for key, value in values.items()}


def _old_name(key: str) -> str:
    before, prefix, name = key.rpartition(_PREFIX)
    is_renamed = name == _OF_LISTENERS if before.startswith(_LISTENER_PREFIX) else not before and name in OLD_NAMES
    return before + name if prefix and is_renamed else key
