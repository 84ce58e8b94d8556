"""The repository against its limits: words, sizes, tests of each file, waits (CONTRIBUTING.md, "Limits")."""

from __future__ import annotations

import pytest

from tests.architecture.checks import CHECKS
from tests.architecture.debt import load_debt, problems_of
from tests.architecture.exceptions import load_exceptions, unused_patterns
from tests.architecture.source_tree import repository_files


@pytest.mark.parametrize("check", CHECKS)
def test_nothing_is_over_a_limit_but_the_debt(check: str) -> None:
    problems = problems_of(CHECKS[check](repository_files()), load_debt().get(check, {}))
    assert not problems, "\n" + "\n".join(problems)


@pytest.mark.parametrize("check", CHECKS)
def test_each_exception_is_needed(check: str) -> None:
    unused = unused_patterns(load_exceptions(check), repository_files())
    assert not unused, f"tests/architecture/exceptions.toml, [{check}]: no file matches, remove {unused}"


def test_the_debt_names_existing_checks() -> None:
    assert set(load_debt()) <= set(CHECKS)
