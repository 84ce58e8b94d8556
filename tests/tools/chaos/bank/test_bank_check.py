"""Each anomaly is found in a history that has it, and nothing is found in one that is right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tools.chaos.bank.bank_check import ANOMALIES, check_bank
from tools.chaos.bank.history import BankHistory, Reading, Result, Transaction
from tools.chaos.bank.transfer import Entry, TransactionId

A, B, C = TransactionId(0, 0), TransactionId(1, 0), TransactionId(2, 0)
Row = tuple[int, int, Entry]


def entries(transaction: TransactionId, source: int, target: int) -> tuple[Entry, ...]:
    """Account 0 and 6 are in partition 0, account 1 and 7 in partition 1."""
    rows = ((source, -5), (target, 8), (source, -3))
    return tuple(Entry(transaction, index, 3, account, amount) for index, (account, amount) in enumerate(rows))


A_ENTRIES, B_ENTRIES, C_ENTRIES = entries(A, 0, 1), entries(B, 6, 7), entries(C, 0, 7)
A_ROWS: list[Row] = [(0, 0, A_ENTRIES[0]), (1, 0, A_ENTRIES[1]), (0, 2, A_ENTRIES[2])]
B_ROWS: list[Row] = [(0, 1, B_ENTRIES[0]), (1, 1, B_ENTRIES[1]), (0, 3, B_ENTRIES[2])]
C_ROWS: list[Row] = [(0, 6, C_ENTRIES[0]), (1, 4, C_ENTRIES[1]), (0, 7, C_ENTRIES[2])]


def placed(rows: Iterable[Row]) -> dict[int, list[tuple[int, Entry]]]:
    """Rows of partition, offset and entry as a reader of whole partitions gets them."""
    places: dict[int, list[tuple[int, Entry]]] = {}
    for partition, offset, entry in sorted(rows, key=lambda row: row[:2]):
        places.setdefault(partition, []).append((offset, entry))
    return places


def history(rows: Iterable[Row] = (*A_ROWS, *B_ROWS)) -> BankHistory:
    """A and B are committed and C is aborted; `rows` is what both readers find at the end, the aborted ones beside."""
    rows = list(rows)
    return BankHistory(
        transactions=[
            Transaction(A, A_ENTRIES, offset=1, result=Result.COMMITTED),
            Transaction(B, B_ENTRIES, frozenset({A}), result=Result.COMMITTED),
            Transaction(C, C_ENTRIES, offset=1, result=Result.ABORTED),
        ],
        readings=[reading(rows), reading([*rows, *C_ROWS], is_committed=False)],
        committed=placed(rows),
        uncommitted=placed([*rows, *C_ROWS]),
        group_offsets={0: 1, 1: None, 2: None},
    )


def reading(rows: Iterable[Row], *, is_committed: bool = True) -> Reading:
    name = "committed" if is_committed else "uncommitted"
    return Reading(name, is_committed, {**placed(rows)})


def anomalies(wrong: BankHistory) -> dict[str, int]:
    check = check_bank(wrong)
    found = {name: count for name, count in check.counts.items() if count}
    assert check.holds == (not found)
    assert {text.partition(":")[0] for text in check.examples} == found.keys()
    return found


def test_nothing_is_wrong() -> None:
    check = check_bank(history())
    assert check.holds
    assert (check.committed, check.aborted, check.examples) == (2, 1, ())
    assert check.counts == dict.fromkeys(ANOMALIES, 0)


def test_a_transaction_whose_result_is_not_known_may_be_there_or_not() -> None:
    right = history()
    right.transactions[1].result = Result.UNKNOWN
    assert anomalies(right) == {}
    right = history(A_ROWS)
    right.transactions[1].result = Result.UNKNOWN
    assert anomalies(right) == {}


def test_partial() -> None:
    assert anomalies(history([*A_ROWS, *B_ROWS[:2]])) == {"partial": 1, "balance": 1}
    other = TransactionId(9, 9)
    extra = Entry(other, 0, 1, 0, 0)
    assert anomalies(history([*A_ROWS, *B_ROWS, (0, 9, extra)])) == {"partial": 1}


def test_a_transaction_with_an_unknown_result_is_not_there_in_part_either() -> None:
    wrong = history([*A_ROWS, B_ROWS[0], B_ROWS[2]])
    wrong.transactions[1].result = Result.UNKNOWN
    assert anomalies(wrong) == {"partial": 1, "balance": 1}


def test_lost() -> None:
    assert anomalies(history(A_ROWS)) == {"lost": 1}


def test_repeated() -> None:
    again = (0, 8, B_ENTRIES[2])
    found = anomalies(history([*A_ROWS, *B_ROWS, again]))
    assert found == {"repeated": 2, "balance": 1}, "once for each isolation level"


def test_reordered() -> None:
    swapped = [(0, 0, A_ENTRIES[2]), (0, 2, A_ENTRIES[0]), A_ROWS[1]]
    assert anomalies(history([*swapped, *B_ROWS])) == {"reordered": 2}
    later = Transaction(
        TransactionId(0, 1), tuple(replace(each, transaction=TransactionId(0, 1)) for each in A_ENTRIES)
    )
    rows = [(partition, offset + 10, entry) for partition, offset, entry in A_ROWS]
    before = [(0, 5, later.entries[0]), (1, 5, later.entries[1]), (0, 6, later.entries[2])]
    wrong = history([*rows, *B_ROWS, *before])
    wrong.transactions.append(later)
    assert anomalies(wrong)["reordered"] == 6


def test_g0_two_transactions_overwrite_each_other() -> None:
    b_entries = entries(B, 0, 1)
    mixed = [(0, 0, A_ENTRIES[0]), (0, 1, b_entries[0]), (0, 2, A_ENTRIES[2]), (0, 3, b_entries[2])]
    wrong = history([*mixed, (1, 0, A_ENTRIES[1]), (1, 1, b_entries[1])])
    wrong.transactions[1].entries = b_entries
    assert anomalies(wrong) == {"G0": 1}
    assert "G0: 0/0 -> 1/0 -> 0/0" in check_bank(wrong).examples


def test_records_of_several_transactions_of_a_partition_may_be_mixed() -> None:
    assert [entry.transaction for _, entry in history().committed[0]] == [A, B, A, B]
    assert anomalies(history()) == {}


def test_g1a_an_aborted_record_is_read() -> None:
    wrong = history()
    wrong.readings[0] = reading([*A_ROWS, *B_ROWS, C_ROWS[0]])
    assert anomalies(wrong) == {"G1a": 1, "phantom": 1}
    assert anomalies(history([*A_ROWS, *B_ROWS, *C_ROWS]))["G1a"] == 6, "at the end, and by the reader meanwhile"


def test_g1a_a_producer_read_an_aborted_record() -> None:
    wrong = history()
    wrong.transactions[1].reads = frozenset({C})
    assert anomalies(wrong) == {"G1a": 1}
    wrong = history(A_ROWS)
    wrong.transactions[1].result = Result.UNKNOWN
    wrong.transactions[0].reads = frozenset({B})
    assert anomalies(wrong)["G1a"] == 1, "its result was not known, and it is not there"


def test_g1b_a_part_of_a_transaction_is_read_and_the_rest_passed() -> None:
    wrong = history()
    wrong.readings[0] = reading([row for row in (*A_ROWS, *B_ROWS) if row != A_ROWS[2]])
    assert anomalies(wrong) == {"G1b": 1}


def test_a_reader_may_be_in_the_middle_of_a_transaction() -> None:
    right = history()
    right.readings[0] = reading([A_ROWS[0], B_ROWS[0]])
    assert anomalies(right) == {}


def test_g1c_two_transactions_read_each_other() -> None:
    wrong = history()
    wrong.transactions[0].reads = frozenset({B})
    assert anomalies(wrong) == {"G1c": 1}


def test_g1c_a_transaction_reads_what_was_written_later() -> None:
    b_entries = entries(B, 0, 7)
    wrong = history([*A_ROWS, (0, 3, b_entries[0]), (1, 1, b_entries[1]), (0, 4, b_entries[2])])
    wrong.transactions[0].reads = frozenset({B})
    wrong.transactions[1] = Transaction(B, b_entries, result=Result.COMMITTED)
    assert anomalies(wrong) == {"G1c": 1}


def test_unseen() -> None:
    wrong = history()
    wrong.readings[0] = reading([*A_ROWS, B_ROWS[2]])
    wrong.readings[0].rows[0] = [row for row in wrong.readings[0].rows[0] if row[1].transaction != A]
    assert anomalies(wrong) == {"unseen": 2, "G1b": 1}
    wrong = history()
    wrong.readings[1] = reading([*A_ROWS, B_ROWS[2]], is_committed=False)
    assert anomalies(wrong) == {"unseen": 1}


def test_phantom_a_record_has_disappeared() -> None:
    wrong = history()
    wrong.readings[1] = reading([*A_ROWS, *B_ROWS, *C_ROWS, (1, 9, C_ENTRIES[1])], is_committed=False)
    assert anomalies(wrong) == {"phantom": 1}
    wrong = history()
    wrong.uncommitted = placed([*A_ROWS[1:], *B_ROWS, *C_ROWS])
    assert anomalies(wrong)["phantom"] == 2, "committed at the end, and read by the reader meanwhile"


def test_backward() -> None:
    wrong = history()
    wrong.readings[0].rows[1].append(wrong.readings[0].rows[1][0])
    assert anomalies(wrong) == {"backward": 1}


def test_offsets() -> None:
    for offsets in (
        {0: None, 1: None, 2: None},
        {0: 2, 1: None, 2: None},
        {0: 1, 1: 5, 2: None},
        {0: 1, 1: None, 2: 1},
    ):
        wrong = history()
        wrong.group_offsets = offsets
        assert anomalies(wrong) == {"offsets": 1}


def test_unstable() -> None:
    wrong = history()
    wrong.unstable = ["partition 0 is stable up to 4 of 8"]
    assert anomalies(wrong) == {"unstable": 1}
