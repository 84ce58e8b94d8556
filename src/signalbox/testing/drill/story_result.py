"""What a client did in one story."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class StoryResult:
    """`served`: the partitions that acknowledged a record while the routes were wrong, `expected` those that had to.
    `recovered_ms`: from the mended routes to the acknowledgement of a new record in every partition, None for never.
    `lost`, `repeated`, `misplaced`: acknowledged records that are not in the topic, records that are there twice,
    records in the other cluster. `sent_identity`: the client sent the expected node with ApiVersions (KIP-1242)."""

    story: str
    expected: frozenset[int]
    served: frozenset[int] = frozenset()
    acknowledged: int = 0
    failed: int = 0
    recovered_ms: float | None = None
    lost: int = 0
    repeated: int = 0
    misplaced: int = 0
    sent_identity: bool = False
    errors: list[str] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        """What is wrong, in words; nothing if the client passed."""
        missing = ", ".join(map(str, sorted(self.expected - self.served)))
        checks = (
            (bool(self.errors), "; ".join(self.errors)),
            (self.lost > 0, f"{self.lost} acknowledged records are lost"),
            (self.repeated > 0, f"{self.repeated} records are stored twice"),
            (self.misplaced > 0, f"{self.misplaced} records are in the other cluster"),
            (bool(missing), f"no record of partition {missing} was acknowledged, though its leader was reachable"),
            (self.recovered_ms is None and not self.errors, "it did not go on when the routes were right again"),
        )
        return [text for wrong, text in checks if wrong]

    @property
    def passed(self) -> bool:
        return not self.faults
