"""Two runs compared: another time, another network, or the rounds of `--watch`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from signalbox.doctor.checks.about import about, ids
from signalbox.doctor.finding import Finding
from signalbox.doctor.observations import Examination, ListenerObservation


def compare(before: Examination, now: Examination) -> list[Finding]:
    """What has changed since `before`. Entries are matched by their text; if both runs have the same number of entries,
    those without a match by their position: another network has other bootstrap servers."""
    return [finding for old, new in _pairs(before, now) for finding in _changes(old, new)]


def latest(before: Examination | None, now: Examination) -> Examination:
    """What to compare the next round with: `now`, and for entries without Metadata in it the round before. Otherwise a
    change during an outage would never be reported."""
    if before is None:
        return now
    earlier = {new.bootstrap: old for old, new in _pairs(before, now)}
    rows = (row if row.view.brokers else earlier.get(row.bootstrap, row) for row in now.listeners)
    return replace(now, listeners=tuple(rows))


def _pairs(before: Examination, now: Examination) -> Iterator[tuple[ListenerObservation, ListenerObservation]]:
    by_text = {row.bootstrap: row for row in before.listeners}
    for index, row in enumerate(now.listeners):
        old = by_text.get(row.bootstrap)
        if old is None and len(before.listeners) == len(now.listeners):
            old = before.listeners[index]
        if old is not None:
            yield old, row


def _changes(old: ListenerObservation, new: ListenerObservation) -> Iterator[Finding]:
    if not old.view.brokers or not new.view.brokers:
        return
    if old.view.cluster_id != new.view.cluster_id:
        text = f"cluster {new.view.cluster_id} responds, it was cluster {old.view.cluster_id}"
        yield about("CLUSTER_CHANGED", new, None, text)
        return
    by_id = {row.node_id: row for row in new.advertised}
    for node_id, address in old.view.brokers.items():
        current = new.view.brokers.get(node_id)
        if current is not None and current != address:
            text = f"node {node_id} is at {current}, it was at {address}"
            yield about("ADDRESS_CHANGED", new, by_id.get(int(node_id)), text, current)
    added = sorted(int(node_id) for node_id in new.view.brokers.keys() - old.view.brokers.keys())
    removed = sorted(int(node_id) for node_id in old.view.brokers.keys() - new.view.brokers.keys())
    if added or removed:
        parts = [f"added: {ids(added)}"] if added else []
        parts += [f"removed: {ids(removed)}"] if removed else []
        yield about("NODES_CHANGED", new, None, "; ".join(parts))
    yield from _routes(old, new)


def _routes(old: ListenerObservation, new: ListenerObservation) -> Iterator[Finding]:
    """Addresses of the same node where another node responds than before."""
    before = {(row.address, row.node_id): row.answering for row in old.addresses}
    for row in new.addresses:
        nodes = before.get((row.address, row.node_id), ())
        if len(nodes) == len(row.answering) == 1 and nodes != row.answering:
            text = f"node {row.answering[0]} responds at {row.address}, it was node {nodes[0]}"
            yield about("ROUTE_CHANGED", new, row, text)
