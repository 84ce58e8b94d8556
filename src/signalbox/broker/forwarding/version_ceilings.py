"""`signalbox.forwarded.api.versions.max`: maximum versions of forwardable APIs (F9).

A broker with a maximum behaves, towards clients and towards brokers that forward to it, like a broker of an older
release: it advertises and accepts no higher versions, also inside an Envelope. An operator excludes a version of an API
from a cluster by setting the same maximum on every broker. With different maximums the cluster is mixed, as during an
upgrade: a broker advertises the versions that it and the active controller have in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from signalbox.protocol.api_table import API_TABLE

VersionCeilings = Mapping[int, int]
"""Maximum version by API key; an API without an entry has no maximum."""

NO_CEILINGS: VersionCeilings = {}
_FORWARDABLE = {row.name: row for row in API_TABLE.values() if row.forwardable}


def parse_ceilings(entries: Iterable[str]) -> dict[int, int]:
    """Parse entries like `CreateTopics:5`, with Kafka's API names. ValueError names the invalid entry."""
    ceilings: dict[int, int] = {}
    for entry in entries:
        name, _, version = entry.partition(":")
        row = _FORWARDABLE.get(name)
        if row is None:
            raise ValueError(f"{entry!r} names no API that is forwarded; there are {', '.join(_FORWARDABLE)}")
        if row.key in ceilings:
            raise ValueError(f"{entry!r}: {name} has a ceiling already")
        if not version.isdecimal() or not row.min_version <= int(version) <= row.max_version:
            raise ValueError(f"{entry!r}: {name} has versions {row.min_version} to {row.max_version}")
        ceilings[row.key] = int(version)
    return ceilings


def reject_ceilings(value: object) -> str | None:
    """The config row's validator: the error, or None."""
    assert isinstance(value, list)
    try:
        parse_ceilings(value)
    except ValueError as problem:
        return str(problem)
    return None
