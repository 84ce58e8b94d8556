"""The mirror of tests."""

from __future__ import annotations

from tests.architecture.mirror import files_without_test
from tests.architecture.source_tree import SourceFile

SOURCE = SourceFile("src/signalbox/broker/routes.py", "")


def test_a_file_without_test_is_found() -> None:
    (excess,) = files_without_test([SOURCE], ())
    assert str(excess.places[0]).startswith(
        "src/signalbox/broker/routes.py:1: no tests/broker/test_routes.py: write it"
    )


def test_a_file_with_its_test_or_an_exception_is_in_order() -> None:
    assert files_without_test([SOURCE, SourceFile("tests/broker/test_routes.py", "")], ()) == []
    assert files_without_test([SOURCE], ["*/routes.py"]) == []
    assert files_without_test([SourceFile("src/signalbox/broker/__init__.py", "")], ()) == []


def test_the_tests_of_tools_are_in_a_folder_of_their_own() -> None:
    tool = SourceFile("tools/chaos/plan.py", "")
    (excess,) = files_without_test([tool, SourceFile("tests/chaos/test_plan.py", "")], ())
    assert "no tests/tools/chaos/test_plan.py" in str(excess.places[0])
    assert files_without_test([tool, SourceFile("tests/tools/chaos/test_plan.py", "")], ()) == []
