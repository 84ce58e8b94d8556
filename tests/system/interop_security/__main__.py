"""`python -m tests.system.interop_security [page]`: runs every cell, prints the table, writes the page if named."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

import pytest

from tests.system.interop_security import versions
from tests.system.interop_security.result_table import Results, render

HERE = Path(__file__).parent


class _Printed(Results):
    def __init__(self, page: Path | None) -> None:
        super().__init__()
        self._page = page

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        ran = f"Last run on {day}; brokers on {versions.brokers()}."
        text = render(self.results, versions.clients(), ran)
        terminalreporter.write_line("\n" + text)
        if self._page is not None:
            self._page.write_text(text)


def main(arguments: list[str]) -> int:
    """Returns pytest's exit code."""
    page = Path(arguments[0]) if arguments else None
    return int(pytest.main(["-q", "-p", "no:warnings", str(HERE / "test_matrix.py")], plugins=[_Printed(page)]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
