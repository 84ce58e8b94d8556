"""Old names of this project's own configuration keys: before they began with `signalbox.`, or before a key was renamed.

A key with an old name is read as the new key for one release, with a warning. One of them can be a listener's own key
(`listener.name.<listener>.<mechanism>.<key>`). Kafka's keys and the names from KIPs never had the prefix.
"""

from __future__ import annotations

from collections.abc import Mapping

_PREFIX = "signalbox."
_LISTENER_PREFIX = "listener.name."
_OF_LISTENERS = "sasl.oauthbearer.expected.scope"
_WITHOUT_PREFIX = (
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
    "forwarded.api.versions.max",
    "metadata.store",
    "metrics.http.host",
    "metrics.http.port",
    "sasl.jaas.file",
    "sasl.oauthbearer.expected.scope",
)
_SLICE = "signalbox.event.loop.slice.us"
_CURRENT_NAMES = {name: _PREFIX + name for name in _WITHOUT_PREFIX} | {
    "data.plane.slice.us": _SLICE,
    "signalbox.data.plane.slice.us": _SLICE,
}
OLD_NAMES = tuple(_CURRENT_NAMES)
_OLDEST_NAMES = {current: old for old, current in reversed(_CURRENT_NAMES.items())}


def current_name(key: str) -> str:
    """The name of a key today; a key that was not renamed is returned as it is."""
    if key in _CURRENT_NAMES:
        return _CURRENT_NAMES[key]
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
    if before.startswith(_LISTENER_PREFIX):
        return before + name if prefix and name == _OF_LISTENERS else key
    return _OLDEST_NAMES.get(key, key)
