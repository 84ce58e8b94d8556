"""The mutants of a file: each is one change, and what needs no test is left out."""

from __future__ import annotations

from pathlib import Path

from tools.mutants.mutations import FileMutations, number_of_mutants

TEXT = '''
import logging

log = logging.getLogger("a")
LIMIT = 5


def larger(one, other=3):
    """Whether one is larger."""
    log.warning("compared %d", one)
    if one > other:
        return True
    raise ValueError("not a larger number")
'''

NESTED = """class Bounds:
    def reject(self, one):
        def over():
            return one > 5
        return not over()
"""

STATEMENTS = """def limit(one, other):
    if one > 5:
        return limit(
            one + 1, other
        )
    return other
"""


def changes(text: str) -> list[str]:
    mutations = FileMutations("larger.py", text)
    return [mutations.mutant(number).change for number in range(len(mutations))]


def test_a_mutant_is_one_change_with_its_line() -> None:
    mutations = FileMutations("larger.py", TEXT)
    found = {mutations.mutant(number).change: mutations.mutant(number) for number in range(len(mutations))}
    mutant = found["- if one > other:\n+ if one >= other:"]
    assert (mutant.path, mutant.line, mutant.function) == ("larger.py", 11, "larger")
    assert mutant.text == TEXT.replace("one > other", "one >= other")


def test_a_mutant_has_the_innermost_function() -> None:
    mutations = FileMutations("bounds.py", NESTED)
    found = {mutations.mutant(number).line: mutations.mutant(number).function for number in range(len(mutations))}
    assert found == {4: "over", 5: "reject"}


def test_logs_texts_for_people_defaults_and_module_code_are_left_out() -> None:
    found = "\n".join(changes(TEXT))
    assert "return False" in found
    assert not any(text in found for text in ("compared", "larger number", "LIMIT", "other=4", "getLogger"))


def test_they_are_counted(tmp_path: Path) -> None:
    (tmp_path / "larger.py").write_text(TEXT)
    assert number_of_mutants(tmp_path, "larger.py") == len(changes(TEXT)) > 0


def test_a_mutant_is_in_the_lines_of_its_statement() -> None:
    mutations = FileMutations("bounds.py", STATEMENTS)
    found = {}
    for number in range(len(mutations)):
        mutant = mutations.mutant(number)
        found[mutant.line] = mutations.lines_of(mutant)
    assert found == {2: range(2, 3), 4: range(3, 6)}
