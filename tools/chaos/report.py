"""The results of a run: for the terminal, for `build/chaos.json`, and whether the run covered all that is required."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tools.chaos.bank.bank_check import BankCheck
from tools.chaos.changes.change_check import ChangeCheck
from tools.chaos.destroyed_topics import DestroyedCheck
from tools.chaos.faults.injector import InjectedFault
from tools.chaos.plan import LONG_RUN_S, Kind
from tools.chaos.record_check import RecordCheck
from tools.chaos.replicas import Comparison
from tools.chaos.writers.one_writer import Writers

MIN_RATE = 500.0  # acknowledged records a second, on average
SECONDS_PER_FAULT = 10.0  # at most, on average
MIN_TRANSACTIONS = 2.0  # committed a second, on average; with a bank
_CONTROLLER_KILLS = 2
_LONG_PAUSES = 2
MIN_CHANGES = 2.0  # acknowledged changes of each kind per fault: some must happen during a fault
_STOPS = {kind.value for kind in (Kind.PAUSE, Kind.PAUSE_IN_COMMIT)}
_NETWORK = {kind.value for kind in (Kind.CUT_OFF, Kind.STALL, Kind.MUTE)}
_STORE = {kind.value for kind in (Kind.PAUSE_IN_COMMIT, Kind.STORE_KILL, Kind.STORE_OUTAGE, Kind.STORE_CUT)}


@dataclass
class Report:
    """`violations` in words; a correct run has none."""

    seed: int
    session_s: float
    every_kind: frozenset[str] = frozenset()
    with_bank: bool = False
    seconds: float = 0.0
    faults: list[InjectedFault] = field(default_factory=list)
    acknowledged: int = 0
    group_saw: int = 0
    group_repeats: int = 0
    records: RecordCheck | None = None
    destroyed: DestroyedCheck | None = None
    comparison: Comparison | None = None
    changes: list[ChangeCheck] = field(default_factory=list)
    writers: Writers | None = None
    bank: BankCheck | None = None
    transaction_version: int | None = None
    noise: dict[int, list[tuple[str, int]]] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def shortfalls(self) -> list[str]:
        """Required coverage that this run lacks: a run without load and faults proves nothing."""
        kills = [fault for fault in self.faults if fault.kind == Kind.KILL.value and fault.was_controller]
        pauses = [fault for fault in self.faults if fault.kind in _STOPS and fault.hold_s > self.session_s]
        kinds = {fault.kind for fault in self.faults}
        claims = (
            (
                len(self.faults) * SECONDS_PER_FAULT >= self.seconds,
                f"{len(self.faults)} faults in {self.seconds:.0f} s",
            ),
            (len(kills) >= _CONTROLLER_KILLS, f"{len(kills)} controller kills"),
            (len(pauses) >= _LONG_PAUSES, f"{len(pauses)} stops longer than a session"),
            (
                self.acknowledged >= MIN_RATE * self.seconds,
                f"{self.acknowledged} records acknowledged in {self.seconds:.0f} s",
            ),
            (
                self.seconds < LONG_RUN_S or self.every_kind <= kinds,
                f"no {', no '.join(sorted(self.every_kind - kinds))}",
            ),
            (kinds & _NETWORK, "no cut of the network"),
            (kinds & _STORE, "no fault of the store"),
            (self.changes, "no metadata change was checked"),
            *(
                (each.acknowledged >= MIN_CHANGES * len(self.faults), f"{each.acknowledged} changes of {each.kind}s")
                for each in self.changes
            ),
            (self.writers is not None and self.writers.commits > 0, "no writer was seen"),
            (self.records is not None, "the topic was not read to its end"),
            (
                Kind.COPIES_DESTROYED.value not in kinds or (self.destroyed and self.destroyed.lost_and_logged),
                "no record whose copies were all destroyed is lost and said",
            ),
            (self.comparison is not None and self.comparison.replicas > 0, "no replicas were compared"),
            *self._claims_of_bank(),
        )
        return [f"too little was shown: {seen}" for holds, seen in claims if not holds]

    def _claims_of_bank(self) -> Iterator[tuple[bool, str]]:
        if self.with_bank:
            yield self.bank is not None, "the bank was not read to its end"
        if self.bank is not None:
            committed, aborted = self.bank.committed, self.bank.aborted
            yield committed >= MIN_TRANSACTIONS * self.seconds, f"{committed} committed transactions"
            yield aborted > 0, "no aborted transaction"

    @property
    def lost(self) -> int | None:
        """Acknowledged records that are missing without an accepted reason."""
        if self.records is None:
            return None
        return self.records.lost + (self.destroyed.lost if self.destroyed else 0)

    def as_json(self) -> dict[str, Any]:
        """`build/chaos.json`; counts that could not be made are null."""
        records, comparison = self.records, self.comparison
        return {
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "faults": len(self.faults),
            "acknowledged": self.acknowledged,
            "lost": self.lost,
            "lost_and_said": self.destroyed.lost_and_logged if self.destroyed else None,
            "duplicated": records.duplicated if records else None,
            "reordered": records.reordered if records else None,
            "acknowledged_per_second": round(self.acknowledged / self.seconds) if self.seconds else 0,
            "changes": {
                each.kind: {
                    "entities": each.entities,
                    "set_back": each.set_back,
                    "acknowledged": each.acknowledged,
                    "rejected": each.rejected,
                    "unanswered": each.unanswered,
                    "lost": each.lost,
                    "unlike": each.unlike,
                    "contradicted": each.contradicted,
                }
                for each in self.changes
            },
            "controllers_of_epochs": list(self.writers.epochs) if self.writers else None,
            "controller_commits": self.writers.commits if self.writers else None,
            "two_writers": len(self.writers.intruders) if self.writers else None,
            "bank": {
                "transaction_version": self.transaction_version,
                "committed": self.bank.committed,
                "aborted": self.bank.aborted,
                "anomalies": self.bank.counts,
            }
            if self.bank
            else None,
            "replica_bytes_compared": comparison.size_bytes if comparison else 0,
            "replica_differences": len(comparison.differences) if comparison else None,
            "violations": self.violations,
            "each_fault": [fault.as_json() for fault in self.faults],
        }

    def lines(self) -> Iterator[str]:
        """The summary of a run, for the terminal."""
        rate = self.acknowledged / max(self.seconds, 1)
        yield (
            f"seed {self.seed}: {self.seconds:.1f} s, {len(self.faults)} faults, {self.acknowledged:,} records "
            f"acknowledged ({rate:,.0f} a second)"
        )
        if self.records is not None:
            yield (
                f"lost {self.lost}, lost and said (every copy was destroyed, and a broker's log names the offsets) "
                f"{self.destroyed.lost_and_logged if self.destroyed else 'not checked'}; "
                f"duplicated {self.records.duplicated}, reordered {self.records.reordered}; "
                f"the group saw {self.group_saw:,} records, {self.group_repeats:,} of them again"
            )
        if self.comparison is not None:
            yield (
                f"{self.comparison.replicas} replicas of {self.comparison.partitions} partitions compared, "
                f"{self.comparison.size_bytes:,} bytes each: {len(self.comparison.differences)} differences"
            )
        for each in self.changes:
            yield (
                f"{each.kind} changes: {each.acknowledged} acknowledged, {each.rejected} rejected, {each.unanswered} "
                f"without an answer; {each.entities} compared with the store and every broker: lost {each.lost}, "
                f"brokers that differ {each.unlike}, false answers {each.contradicted}"
            )
        if self.writers is not None:
            yield (
                f"{self.writers.commits} commits of controllers in {len(self.writers.epochs)} epochs, by brokers "
                f"{' '.join(map(str, self.writers.epochs))}: second writers {len(self.writers.intruders)}"
            )
        if self.bank is not None:
            yield (
                f"bank: transaction.version {self.transaction_version}, "
                f"{self.bank.committed:,} transactions committed, {self.bank.aborted:,} aborted; "
                + ", ".join(f"{name} {count}" for name, count in self.bank.counts.items())
            )
        for text in self.violations:
            yield f"VIOLATION {text}"
        yield f"chaos: {len(self.violations)} violations" if self.violations else "chaos: nothing violated"
