"""A step fails if it does not do what the page shows."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.tour.run import Step, run_page
from tools.tour.session import Session


def test_a_page_is_run_in_its_order_and_goes_on_after_a_fault(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "`x.txt`:\n\n```properties\na=1\n```\n\n```console\n$ cat x.txt\na=2\n$ echo b\nb\n$ make env\n```\n"
    )
    reported: list[Step] = []
    steps = run_page(page, Session(tmp_path / "tour", Path(sys.executable).parent), reported.append)
    assert steps == reported
    assert [(step.name, bool(step.fault)) for step in steps] == [
        ("page.md:8 $ cat x.txt", True),
        ("page.md:10 $ echo b", False),
    ]
