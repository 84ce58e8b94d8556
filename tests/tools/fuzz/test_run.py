from __future__ import annotations

from pathlib import Path

import pytest
from tools.fuzz.run import _tracebacks, fuzz_broker


@pytest.mark.parametrize("name", ["open", "guarded"])
def test_a_broker_bears_some_hundreds(name: str, tmp_path: Path) -> None:
    output: list[str] = []
    checks = fuzz_broker(name, 7, 600, tmp_path, output.append)
    assert [check for check in checks if not check.passed] == []
    assert len(checks) == 7
    assert any("frames" in line for line in output)


def test_tracebacks_are_counted_by_where_they_began() -> None:
    block = 'x\nTraceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nValueError: no\n'
    assert _tracebacks(block * 2 + "fine\n") == '  2 x ValueError: no (File "a.py", line 1, in f)'
    assert _tracebacks("fine\n") == ""
