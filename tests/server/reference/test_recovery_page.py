from __future__ import annotations

from signalbox.client.cluster.rebootstrap_table import TRANSITIONS, Action, Phase, Signal
from signalbox.server.reference.recovery_page import recovery_page


def test_every_signal_has_a_row_with_a_cell_for_each_phase() -> None:
    page = recovery_page()
    rows = {cells[0]: cells[1:] for cells in map(_cells, page.splitlines()) if len(cells) == 1 + len(Phase)}
    assert set(rows) == {"signal", "---", *(signal.value for signal in Signal)}
    for signal in Signal:
        for phase, cell in zip(Phase, rows[signal.value], strict=True):
            following, action = TRANSITIONS[phase, signal]
            assert (cell == "–") == (action is Action.IGNORE and following is phase)
            assert (" → " in cell) == (following is not phase)


def test_the_table_says_what_a_client_does() -> None:
    page = recovery_page()
    assert "| ApiVersions" not in page
    assert "start over → bootstrap" in page
    assert "quarantine this route, keep everything else" in page


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
