"""The page in docs/ is of this matrix: the same rows, clients and cells, none failed."""

from __future__ import annotations

import re

from tests.system.interop_security.matrix import CLIENTS, FAULTS, KINDS, NOT_CELLS, cells, rejection_cells
from tests.system.interop_security.rejections import REJECTIONS
from tests.system.interop_security.result_table import FAILED, NO_CELL, PASSED, render, summary
from tests.system.provision import HERE

PAGE = HERE.parents[1] / "docs" / "interop.md"


def _cells_of(page: str) -> dict[tuple[str, str], str]:
    rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in page.splitlines() if line.startswith("| ")]
    return {
        (row[0], client): cell for row in rows if len(row) == len(CLIENTS) + 1 for client, cell in zip(CLIENTS, row[1:])
    }


def test_the_page_is_of_this_matrix_and_nothing_failed() -> None:
    found = _cells_of(PAGE.read_text())
    for cell in (*cells(), *rejection_cells()):
        assert found.pop(cell) == PASSED, cell
    assert {cell for cell, result in found.items() if result == NO_CELL} == {(e.row, e.client) for e in NOT_CELLS}


def test_every_cell_has_its_words_and_every_exception_its_source() -> None:
    assert set(REJECTIONS) == set(CLIENTS)
    for client in CLIENTS:
        assert set(REJECTIONS[client]) == {fault.shows for fault in FAULTS.values()}
    assert all(each.row in (*KINDS, *FAULTS) and each.reason and each.source for each in NOT_CELLS)


def test_a_failed_cell_is_counted_and_shown() -> None:
    results = dict.fromkeys(cells(), PASSED)
    results["SSL", "kcat"] = FAILED
    assert summary(results) == f"{len(results)} cells: {len(results) - 1} pass, 1 fail, none is skipped."
    assert _cells_of(render(results, {}, ""))["SSL", "kcat"] == FAILED
