"""`signalbox pipeline`: options are handed over, what is wrong with them is said in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("tables", "t", "--warehouse", "w", "--profile", "nonsense"), "nonsense"),
        (("audit", "--warehouse", "w", "--profile", "nonsense"), "nonsense"),
        (("tables", "t", "--warehouse", "w", "--commit", "nonsense"), "nonsense"),
    ],
)
def test_options_that_are_none(run: Any, tmp_path: Path, arguments: tuple[str, ...], text: str) -> None:
    run("topic", "create", "t")
    result = run("pipeline", *(str(tmp_path / "w") if word == "w" else word for word in arguments))
    assert result.exit_code == 1
    assert text in result.stderr
    assert "Traceback" not in result.output


def test_a_warehouse_is_needed(run: Any) -> None:
    assert run("pipeline", "tables", "t").exit_code == 2
