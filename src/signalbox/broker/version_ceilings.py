"""`forwarded.api.versions.max`: versions of changes that a broker holds back (F9).

A broker with a ceiling is, towards clients and towards brokers that forward to it, one of an older release: it lists
less, takes less, and refuses what an Envelope carries above it. An operator keeps a version of an API out of a cluster
with it, by giving every broker the same ceilings; with different ones the cluster is mixed, as in the middle of an
upgrade, and clients see what the broker they ask and the active controller have in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from signalbox.protocol.api_table import API_TABLE

VersionCeilings = Mapping[int, int]
"""Highest version by API key; no row is no ceiling."""

NO_CEILINGS: VersionCeilings = {}
_FORWARDABLE = {row.name: row for row in API_TABLE.values() if row.forwardable}


def parse_ceilings(entries: Iterable[str]) -> dict[int, int]:
    """`CreateTopics:5` and so on, in Kafka's names. ValueError names the entry that cannot be."""
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


def refuse_ceilings(value: object) -> str | None:
    """The config row's validator."""
    assert isinstance(value, list)
    try:
        parse_ceilings(value)
    except ValueError as problem:
        return str(problem)
    return None
