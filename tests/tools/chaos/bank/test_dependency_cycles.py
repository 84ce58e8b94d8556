"""Edges between transactions, and the cycles in them."""

from __future__ import annotations

from tools.chaos.bank.dependency_cycles import (
    all_edges,
    cycles,
    order_edges,
    read_edges,
    write_edges,
)
from tools.chaos.bank.history import Places
from tools.chaos.bank.transfer import Entry, TransactionId

A, B, C, D = (TransactionId(producer, 0) for producer in range(4))


def places(*rows: tuple[int, TransactionId, int]) -> Places:
    """Offset, transaction and account of records, all in the partition of account 0."""
    return {0: [(offset, Entry(writer, 0, 1, account, 1)) for offset, writer, account in rows]}


def test_the_next_version_of_an_account_depends_on_the_last_one() -> None:
    found = write_edges(places((0, A, 0), (1, B, 6), (2, C, 0), (3, C, 0), (4, D, 6)))
    assert found == {A: frozenset({C}), B: frozenset({D})}


def test_versions_are_in_the_order_of_the_log_and_not_of_the_reading() -> None:
    assert write_edges(places((5, A, 0), (4, B, 0))) == {B: frozenset({A})}


def test_a_transaction_depends_on_what_its_producer_had_read() -> None:
    assert read_edges([(A, frozenset()), (B, frozenset({A, B})), (C, frozenset({A}))]) == {A: frozenset({B, C})}


def test_the_transactions_of_a_producer_follow_each_other() -> None:
    later = TransactionId(0, 1)
    assert order_edges([B, later, A]) == {A: frozenset({later})}


def test_edges_of_several_graphs() -> None:
    assert all_edges({A: frozenset({B})}, {}, {A: frozenset({C}), B: frozenset({C})}) == {
        A: frozenset({B, C}),
        B: frozenset({C}),
    }


def test_a_graph_without_a_cycle() -> None:
    assert cycles({A: frozenset({B, C}), B: frozenset({C}), C: frozenset({D})}) == []


def test_the_shortest_cycle_of_each_component() -> None:
    assert cycles({A: frozenset({B}), B: frozenset({A, C}), C: frozenset({A, D})}) == [(A, B)]
    assert cycles({A: frozenset({B}), B: frozenset({A}), C: frozenset({D}), D: frozenset({C})}) == [(A, B), (C, D)]
    assert cycles({D: frozenset({A}), A: frozenset({C}), C: frozenset({D})}) == [(A, C, D)]


def test_a_long_history_needs_no_deep_stack() -> None:
    chain = [TransactionId(0, number) for number in range(5_000)]
    edges = order_edges(chain)
    assert cycles(edges) == []
    assert cycles({**edges, chain[-1]: frozenset({chain[0]})}) == [tuple(chain)]
