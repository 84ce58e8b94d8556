"""`signalbox features`: levels, and their changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.waiting import until

FEATURE = "transaction.version"


def levels(run: Any) -> dict[str, list[int]]:
    document = json.loads(run("features", "describe", "--json").stdout)
    return {row["feature"]: [row["lowest"], row["highest"], row["finalized"]] for row in document["rows"]}


def test_a_level_is_raised_and_lowered(run: Any) -> None:
    lowest, highest, _ = levels(run)[FEATURE]
    assert run("features", "upgrade", f"{FEATURE}={highest}", "--dry-run").stdout == f"{FEATURE}: would be changed\n"
    raised = run("features", "upgrade", f"{FEATURE}={highest}")
    assert (raised.exit_code, raised.stdout) == (0, f"{FEATURE}: changed\n")
    assert until(lambda: levels(run)[FEATURE] == [lowest, highest, highest])
    assert run("features", "downgrade", f"{FEATURE}={lowest}").exit_code == 0
    assert until(lambda: levels(run)[FEATURE] == [lowest, highest, lowest])
    assert FEATURE in run("features", "describe").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("upgrade", f"{FEATURE}=99"), 1, FEATURE),
        (("upgrade", "nonsense=1"), 1, "nonsense"),
        (("upgrade", f"{FEATURE}=high"), 2, "is a whole number, not 'high'"),
        (("downgrade", FEATURE), 2, "takes key=value"),
    ],
)
def test_rejections(run: Any, arguments: tuple[str, ...], code: int, text: str) -> None:
    result = run("features", *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert text in result.stderr
