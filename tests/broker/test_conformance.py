from pathlib import Path

import pytest

from signalbox.broker.conformance import (
    MAX_REASON_CHARACTERS,
    AnswerRow,
    Conformance,
    ConformanceRow,
    disagreements,
    read_conformance,
    render,
    served_ranges,
)

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.spec("D16")
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


def test_details_become_numbered_notes_below_their_table() -> None:
    page = render(
        Conformance(
            apis=(
                ConformanceRow("Fetch", "4-18", "served", ""),
                ConformanceRow("Produce", "3-13", "differs", "Stricter.", ("Versions 0-2 are rejected.", "No ids.")),
            ),
            requirements=(
                ConformanceRow("L1", "", "differs", "No details."),
                ConformanceRow("L5 (limits)", "", "differs", "Other limits.", ("One second.",)),
            ),
        )
    )
    _, apis, requirements, _ = page.split("\n## ")
    assert "\n| Fetch | 4-18 | served |  |\n" in apis
    assert "\n| Produce | 3-13 | differs | Stricter. [Note 1](#produce) |\n" in apis
    assert apis.endswith('\n\n### <a id="produce"></a>Note 1: Produce\n\n- Versions 0-2 are rejected.\n- No ids.\n')
    assert "\n| L1 | differs | No details. |\n" in requirements
    assert "\n| L5 (limits) | differs | Other limits. [Note 2](#l5-limits) |\n" in requirements
    assert requirements.endswith('\n\n### <a id="l5-limits"></a>Note 2: L5 (limits)\n\n- One second.\n')


def test_details_are_read_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "conformance.toml"
    file.write_text(
        '[[api]]\nname = "Fetch"\nversions = "4-18"\nstatus = "differs"\nreason = "x"\ndetails = ["b", "a"]\n'
        '[[requirement]]\nnumber = "L1"\nstatus = "served"\n'
    )
    conformance = read_conformance(file)
    assert conformance.apis == (ConformanceRow("Fetch", "4-18", "differs", "x", ("b", "a")),)
    assert conformance.requirements == (ConformanceRow("L1", "", "served", ""),)


def test_details_need_a_reason_that_leads_to_them(tmp_path: Path) -> None:
    file = tmp_path / "conformance.toml"
    file.write_text('[[api]]\nname = "Fetch"\nversions = "4-18"\nstatus = "served"\ndetails = ["x"]\n')
    with pytest.raises(ValueError, match="Fetch: served needs a reason"):
        read_conformance(file)


@pytest.mark.parametrize("length", [MAX_REASON_CHARACTERS, MAX_REASON_CHARACTERS + 1])
@pytest.mark.parametrize("kind", ["api", "answer"])
def test_a_reason_fits_into_a_cell(tmp_path: Path, kind: str, length: int) -> None:
    reasons = {"api": "x", "answer": "x"} | {kind: "x" * length}
    file = tmp_path / "conformance.toml"
    file.write_text(
        f'[[api]]\nname = "Fetch"\nversions = "4-18"\nstatus = "differs"\nreason = "{reasons["api"]}"\n'
        '[[requirement]]\nnumber = "L1"\nstatus = "served"\n'
        f'[[answer]]\napi = "Fetch"\nfields = ["error_code"]\nreason = "{reasons["answer"]}"\n'
    )
    if length > MAX_REASON_CHARACTERS:
        with pytest.raises(ValueError, match=f"Fetch: the reason has {length} characters, more than"):
            read_conformance(file)
    else:
        assert read_conformance(file).answers == (AnswerRow("Fetch", ("error_code",), reasons["answer"]),)


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
