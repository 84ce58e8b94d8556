"""What a run found out: for the terminal, for `build/chaos.json`, and whether it showed all that a run must show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from signalbox.testing.chaos.faults import Inflicted
from signalbox.testing.chaos.plan import Kind
from signalbox.testing.chaos.replicas import Comparison
from signalbox.testing.chaos.verdict import Verdict

MIN_RATE = 500.0  # acknowledged records a second, on average
_SECONDS_PER_FAULT = 10.0
_CONTROLLER_KILLS = 2
_LONG_PAUSES = 2


@dataclass
class Report:
    """`violations` in words; empty is what was to be shown."""

    seed: int
    session_s: float
    seconds: float = 0.0
    faults: list[Inflicted] = field(default_factory=list)
    acknowledged: int = 0
    group_saw: int = 0
    group_repeats: int = 0
    verdict: Verdict | None = None
    comparison: Comparison | None = None
    noise: dict[int, list[tuple[str, int]]] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def shortfalls(self) -> list[str]:
        """What a run must show and this one did not: a quiet run proves nothing."""
        kills = [fault for fault in self.faults if fault.kind == Kind.KILL.value and fault.was_controller]
        pauses = [fault for fault in self.faults if fault.kind == Kind.PAUSE.value and fault.hold_s > self.session_s]
        claims = (
            (
                len(self.faults) * _SECONDS_PER_FAULT >= self.seconds,
                f"{len(self.faults)} faults in {self.seconds:.0f} s",
            ),
            (len(kills) >= _CONTROLLER_KILLS, f"{len(kills)} controller kills"),
            (len(pauses) >= _LONG_PAUSES, f"{len(pauses)} stops longer than a session"),
            (
                self.acknowledged >= MIN_RATE * self.seconds,
                f"{self.acknowledged} records acknowledged in {self.seconds:.0f} s",
            ),
            (self.verdict is not None, "the topic was not read to its end"),
            (self.comparison is not None and self.comparison.replicas > 0, "no replicas were compared"),
        )
        return [f"too little was shown: {seen}" for holds, seen in claims if not holds]

    def as_json(self) -> dict[str, Any]:
        """`build/chaos.json`; counts that nobody could make are null."""
        verdict, comparison = self.verdict, self.comparison
        return {
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "faults": len(self.faults),
            "acknowledged": self.acknowledged,
            "lost": verdict.lost if verdict else None,
            "duplicated": verdict.duplicated if verdict else None,
            "reordered": verdict.reordered if verdict else None,
            "acknowledged_per_second": round(self.acknowledged / self.seconds) if self.seconds else 0,
            "replica_bytes_compared": comparison.size_bytes if comparison else 0,
            "replica_differences": len(comparison.differences) if comparison else None,
            "violations": self.violations,
            "each_fault": [fault.as_json() for fault in self.faults],
        }

    def lines(self) -> Iterator[str]:
        """The end of a run, for people."""
        rate = self.acknowledged / max(self.seconds, 1)
        yield (
            f"seed {self.seed}: {self.seconds:.1f} s, {len(self.faults)} faults, {self.acknowledged:,} records "
            f"acknowledged ({rate:,.0f} a second)"
        )
        if self.verdict is not None:
            yield (
                f"lost {self.verdict.lost}, duplicated {self.verdict.duplicated}, reordered {self.verdict.reordered}; "
                f"the group saw {self.group_saw:,} records, {self.group_repeats:,} of them again"
            )
        if self.comparison is not None:
            yield (
                f"{self.comparison.replicas} replicas of {self.comparison.partitions} partitions compared, "
                f"{self.comparison.size_bytes:,} bytes each: {len(self.comparison.differences)} differences"
            )
        for text in self.violations:
            yield f"VIOLATION {text}"
        yield f"chaos: {len(self.violations)} violations" if self.violations else "chaos: nothing violated"
