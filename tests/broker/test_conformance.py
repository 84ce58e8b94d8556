from pathlib import Path

import pytest

from signalbox.broker.conformance import (
    Conformance,
    ConformanceRow,
    disagreements,
    read_conformance,
    render,
    served_ranges,
)

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_lists_exactly_what_is_served() -> None:
    assert disagreements(read_conformance(DOCS / "conformance.toml")) == []


def test_the_page_is_rendered_from_the_table() -> None:
    assert (DOCS / "conformance.md").read_text() == render(read_conformance(DOCS / "conformance.toml"))


def test_a_missing_row_and_a_wrong_range_are_named() -> None:
    rows = tuple(
        ConformanceRow(name, "0-99" if name == "Fetch" else versions, "served", "")
        for name, versions in served_ranges().items()
        if name != "Envelope"
    )
    assert disagreements(Conformance(rows, ())) == [
        "Envelope: the table says nothing, the routes serve 0",
        "Fetch: the table says 0-99, the routes serve 4-18",
    ]


@pytest.mark.parametrize(
    ("status", "reason", "complaint"), [("perhaps", "x", "not one of"), ("planned", "", "needs a reason")]
)
def test_rows_must_say_why(tmp_path: Path, status: str, reason: str, complaint: str) -> None:
    file = tmp_path / "conformance.toml"
    file.write_text(
        f'[[api]]\nname = "Fetch"\nversions = "4-18"\nstatus = "{status}"\nreason = "{reason}"\n'
        '[[requirement]]\nnumber = "L1"\nstatus = "served"\n'
    )
    with pytest.raises(ValueError, match=complaint):
        read_conformance(file)
