"""`python -m tests.system.distribution`: the wheel with each extra, for each supported Python of this machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.exit(int(pytest.main(["-q", "-rA", *sys.argv[1:], str(Path(__file__).parent / "every_interpreter.py")])))
