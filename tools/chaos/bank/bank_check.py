"""Compares what the readers of a bank got with what its producers know: a transaction is whole or not there. Pure.

`ANOMALIES` names what is searched for. At the end every transaction is settled, so both readings are complete. A reader
may be in the middle of a transaction that is being committed, since partitions do not become stable at the same moment;
but within a partition it must not pass a record that it has not got.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tools.chaos.bank.dependency_cycles import Cycle, all_edges, cycles, order_edges, read_edges, write_edges
from tools.chaos.bank.history import BankHistory, Places, Reading, Result, Transaction
from tools.chaos.bank.transfer import Entry, TransactionId

ANOMALIES: Mapping[str, str] = {
    "partial": "some records of a transaction are committed, others are not",
    "lost": "a transaction was committed, and none of its records is there",
    "repeated": "a record is there twice",
    "reordered": "records of a producer are not in the order in which it sent them",
    "G0": "a cycle of writes: two transactions overwrote each other",
    "G1a": "a reader of committed records got a record of an aborted transaction",
    "G1b": "a reader of committed records got a part of a transaction, and passed another part in the same partition",
    "G1c": "a cycle of reads and writes: two transactions read each other, or what depends on each other",
    "unseen": "a reader passed a record and did not get it",
    "phantom": "a reader got a record that is not at that place at the end",
    "backward": "a reader got a record again, or one before a record that it had got",
    "offsets": "the offset of a group is not the one of its last committed transaction",
    "unstable": "no transaction is open, and the last stable offset is not the end",
    "balance": "the sum of all accounts is not 0",
}
_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class BankCheck:
    """By anomaly its cases, in words; `committed` and `aborted`: transactions found so at the end."""

    committed: int
    aborted: int
    cases: Mapping[str, tuple[str, ...]]

    @property
    def holds(self) -> bool:
        return not any(self.cases.values())

    @property
    def counts(self) -> dict[str, int]:
        return {name: len(self.cases[name]) for name in ANOMALIES}

    @property
    def examples(self) -> tuple[str, ...]:
        return tuple(f"{name}: {case}" for name, cases in self.cases.items() for case in cases[:_EXAMPLES])


def check_bank(history: BankHistory) -> BankCheck:
    """Searches for every anomaly."""
    by_id = {each.transaction_id: each for each in history.transactions}
    found = {entry.transaction for rows in history.committed.values() for _, entry in rows}
    cases: dict[str, list[str]] = {name: [] for name in ANOMALIES}
    cases["partial"] += _partial(by_id, history.committed)
    cases["lost"] += [f"transaction {each}" for each in sorted(_ids(by_id, Result.COMMITTED) - found)]
    for name, places in (("committed", history.committed), ("uncommitted", history.uncommitted)):
        cases["repeated"] += [f"{text}, reading {name}" for text in _repeated(places)]
        cases["reordered"] += [f"{text}, reading {name}" for text in _reordered(places)]
    cases["G1a"] += _aborted_reads(history, _ids(by_id, Result.ABORTED), found)
    _check_dependencies(history, cases)
    _check_place_by_place("the end, uncommitted", history.committed, history.uncommitted, cases["phantom"])
    for reading in history.readings:
        _check_reading(reading, history.committed if reading.is_committed else history.uncommitted, cases)
    cases["offsets"] += _offsets(history, found)
    cases["unstable"] += history.unstable
    if money := sum(entry.amount for rows in history.committed.values() for _, entry in rows):
        cases["balance"].append(f"{money} too much")
    sorted_cases = {name: tuple(texts) for name, texts in cases.items()}
    return BankCheck(len(found), len(by_id.keys() - found), sorted_cases)


def _ids(by_id: Mapping[TransactionId, Transaction], result: Result) -> set[TransactionId]:
    return {key for key, transaction in by_id.items() if transaction.result is result}


def _partial(by_id: Mapping[TransactionId, Transaction], committed: Places) -> Iterator[str]:
    present: dict[TransactionId, set[Entry]] = defaultdict(set)
    for rows in committed.values():
        for _, entry in rows:
            present[entry.transaction].add(entry)
    for key, entries in sorted(present.items()):
        if key not in by_id:
            yield f"transaction {key} was never begun"
        elif missing := set(by_id[key].entries) - entries:
            yield f"transaction {key} without {', '.join(map(str, sorted(missing)))}"


def _repeated(places: Places) -> list[str]:
    counts = Counter(entry for rows in places.values() for _, entry in rows)
    return [f"{entry} {count} times" for entry, count in counts.items() if count > 1]


def _reordered(places: Places) -> Iterator[str]:
    for partition, rows in places.items():
        latest: dict[int, Entry] = {}
        for offset, entry in rows:
            before = latest.get(entry.transaction.producer)
            if before is not None and (entry.transaction.number, entry.index) < (
                before.transaction.number,
                before.index,
            ):
                yield f"{entry} at {partition}/{offset} is behind {before}"
            else:
                latest[entry.transaction.producer] = entry


def _aborted_reads(history: BankHistory, aborted: set[TransactionId], found: set[TransactionId]) -> Iterator[str]:
    final = Reading("the end, committed", is_committed=True)
    final.rows.update({partition: list(rows) for partition, rows in history.committed.items()})
    for reading in (final, *history.readings):
        if reading.is_committed:
            for partition, rows in reading.rows.items():
                for offset, entry in rows:
                    if entry.transaction in aborted:
                        yield f"{reading.name} read {entry} at {partition}/{offset}"
    for transaction in history.transactions:
        for read in sorted(transaction.reads & aborted | transaction.reads - found):
            yield f"transaction {transaction.transaction_id} read {read}"


def _check_dependencies(history: BankHistory, cases: Mapping[str, list[str]]) -> None:
    writes = write_edges(history.committed)
    order = order_edges(each.transaction_id for each in history.transactions)
    reads = read_edges((each.transaction_id, each.reads) for each in history.transactions)
    of_writes = cycles(writes)
    cases["G0"] += map(_in_words, of_writes)
    known = {frozenset(cycle) for cycle in of_writes}
    cases["G1c"] += [
        _in_words(each) for each in cycles(all_edges(writes, order, reads)) if frozenset(each) not in known
    ]


def _in_words(cycle: Cycle) -> str:
    return " -> ".join(map(str, (*cycle, cycle[0])))


def _check_place_by_place(name: str, rows: Places, final: Places, phantoms: list[str]) -> None:
    for partition, got in rows.items():
        at = dict(final.get(partition, ()))
        for offset, entry in got:
            if at.get(offset) != entry:
                phantoms.append(f"{name}: {entry} at {partition}/{offset}, where {at.get(offset, 'nothing')} is")


def _check_reading(reading: Reading, final: Places, cases: Mapping[str, list[str]]) -> None:
    _check_place_by_place(reading.name, reading.rows, final, cases["phantom"])
    for partition, rows in reading.rows.items():
        got, last = {entry for _, entry in rows}, -1
        for offset, entry in rows:
            if offset <= last:
                cases["backward"].append(f"{reading.name}: {entry} at {partition}/{offset} after {last}")
            last = max(offset, last)
        passed = [entry for offset, entry in final.get(partition, ()) if offset <= last and entry not in got]
        parts = {entry.transaction for entry in got}
        for entry in passed:
            name = "G1b" if reading.is_committed and entry.transaction in parts else "unseen"
            cases[name].append(f"{reading.name} passed {entry} in partition {partition}")


def _offsets(history: BankHistory, found: set[TransactionId]) -> Iterator[str]:
    expected: dict[int, int | None] = dict.fromkeys(history.group_offsets)
    for transaction in history.transactions:
        if transaction.offset is not None and transaction.transaction_id in found:
            expected[transaction.transaction_id.producer] = transaction.offset
    for producer, offset in sorted(expected.items()):
        actual = history.group_offsets.get(producer)
        if actual != offset:
            yield f"the group of producer {producer} has {actual} and not {offset}"
