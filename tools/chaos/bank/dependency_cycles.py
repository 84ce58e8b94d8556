"""Dependencies between transactions, and their cycles (Adya's G0 and G1c, as Jepsen searches for them in Kafka). Pure.

A transaction depends on another one by a write-write edge if it wrote the next version of an account, by a write-read
edge if it had read one of the other's records, and by the order of a producer, whose transactions are one after the
other. Versions are ordered by account and not by partition: Kafka
lets the records of open transactions of a partition stand in any order, but a transfer holds its accounts until the
result of its transaction is settled. So every edge leads from a transaction to one that was committed later, and there
must be no cycle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from tools.chaos.bank.history import Places
from tools.chaos.bank.transfer import Entry, TransactionId

Edges = Mapping[TransactionId, frozenset[TransactionId]]
Cycle = tuple[TransactionId, ...]


def write_edges(committed: Places) -> Edges:
    """From the writer of each version of an account to the writer of its next version."""
    versions: dict[int, list[Entry]] = defaultdict(list)
    for _, rows in sorted(committed.items()):
        for _, entry in sorted(rows, key=lambda row: row[0]):
            versions[entry.account].append(entry)
    edges: dict[TransactionId, set[TransactionId]] = defaultdict(set)
    for entries in versions.values():
        for earlier, later in pairwise(entry.transaction for entry in entries):
            if earlier != later:
                edges[earlier].add(later)
    return {source: frozenset(targets) for source, targets in edges.items()}


def read_edges(reads: Iterable[tuple[TransactionId, frozenset[TransactionId]]]) -> Edges:
    """From each transaction that was read to its readers."""
    edges: dict[TransactionId, set[TransactionId]] = defaultdict(set)
    for reader, writers in reads:
        for writer in writers - {reader}:
            edges[writer].add(reader)
    return {source: frozenset(targets) for source, targets in edges.items()}


def order_edges(transactions: Iterable[TransactionId]) -> Edges:
    """From each transaction to the next one of its producer."""
    return {
        earlier: frozenset({later})
        for earlier, later in pairwise(sorted(transactions))
        if earlier.producer == later.producer
    }


def all_edges(*graphs: Edges) -> Edges:
    """The edges of several graphs in one."""
    edges: dict[TransactionId, set[TransactionId]] = defaultdict(set)
    for graph in graphs:
        for source, targets in graph.items():
            edges[source] |= targets
    return {source: frozenset(targets) for source, targets in edges.items()}


def cycles(edges: Edges) -> list[Cycle]:
    """One cycle for each group of transactions that depend on each other (strongly connected component)."""
    return [_cycle_in(edges, component) for component in _components(edges) if len(component) > 1]


def _components(edges: Edges) -> Iterator[frozenset[TransactionId]]:
    """Tarjan's algorithm, without recursion: a history has more transactions than Python has stack."""
    numbers: dict[TransactionId, int] = {}
    lowest: dict[TransactionId, int] = {}
    path: list[TransactionId] = []
    on_path: set[TransactionId] = set()
    for root in sorted(edges):
        walk: list[tuple[TransactionId, Iterator[TransactionId]]] = []
        if root not in numbers:
            walk.append(_enter(root, edges, numbers, lowest, path, on_path))
        while walk:
            node, targets = walk[-1]
            target = next(targets, None)
            if target is None:
                walk.pop()
                if walk:
                    parent = walk[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] == numbers[node]:
                    component = {path.pop()}
                    while node not in component:
                        component.add(path.pop())
                    on_path -= component
                    yield frozenset(component)
            elif target not in numbers:
                walk.append(_enter(target, edges, numbers, lowest, path, on_path))
            elif target in on_path:
                lowest[node] = min(lowest[node], numbers[target])


def _enter(
    node: TransactionId,
    edges: Edges,
    numbers: dict[TransactionId, int],
    lowest: dict[TransactionId, int],
    path: list[TransactionId],
    on_path: set[TransactionId],
) -> tuple[TransactionId, Iterator[TransactionId]]:
    numbers[node] = lowest[node] = len(numbers)
    path.append(node)
    on_path.add(node)
    return node, iter(sorted(edges.get(node, ())))


def _cycle_in(edges: Edges, component: frozenset[TransactionId]) -> Cycle:
    """A shortest cycle through the first transaction of the component."""
    first = min(component)
    came_from: dict[TransactionId, TransactionId] = {}
    level: Sequence[TransactionId] = [first]
    while True:
        following = []
        for node in level:
            for target in sorted(edges.get(node, frozenset()) & component):
                if target == first:
                    return _path_to(node, first, came_from)
                if target not in came_from:
                    came_from[target] = node
                    following.append(target)
        level = following


def _path_to(node: TransactionId, first: TransactionId, came_from: Mapping[TransactionId, TransactionId]) -> Cycle:
    path = [node]
    while path[-1] != first:
        path.append(came_from[path[-1]])
    return tuple(reversed(path))
