"""`python -m tests.system.wire_diff`: exit code 1 if a difference has no row, or a row no difference. `--show` prints
the differences that have a row, too."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from signalbox.broker.conformance import AnswerRow, read_conformance
from tests.system.wire_diff.comparison import Comparison, summary
from tests.system.wire_diff.questions import QUESTIONS
from tests.system.wire_diff.run import ask_all
from tests.system.wire_diff.sides import both_sides

CONFORMANCE = Path(__file__).parents[3] / "docs" / "conformance.toml"


def unused(rows: list[AnswerRow], comparisons: list[Comparison]) -> list[AnswerRow]:
    """Rows that explained no difference."""
    used = {difference.row for comparison in comparisons for difference in comparison.differences}
    return [row for row in rows if row not in used]


def _print(comparison: Comparison, show_explained: bool) -> None:
    listed = [each for each in comparison.differences if show_explained or each.row is None]
    if listed:
        print(comparison.label)
    for each in listed:
        print(
            f"    {each.path}: {each.ours!r}, Kafka {each.kafka!r}" + (" (has a row)" if each.row else ""), flush=True
        )


def main(arguments: list[str]) -> int:
    rows = list(read_conformance(CONFORMANCE).answers)
    with tempfile.TemporaryDirectory(prefix="wire-diff-") as folder, both_sides(Path(folder)) as (ours, kafka):
        comparisons = []
        for comparison in ask_all(ours, kafka, QUESTIONS, rows):
            comparisons.append(comparison)
            _print(comparison, "--show" in arguments)
    idle = unused(rows, comparisons)
    for row in idle:
        print(f"a row of docs/conformance.toml explains no difference: {row.api}, {', '.join(row.fields)}")
    print(summary(comparisons))
    return 0 if not idle and all(comparison.explained for comparison in comparisons) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
