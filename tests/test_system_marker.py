"""Tests that need more than Python are left out of `make unit`, whatever brings the need. Programs that are not Python
are provided by `tests.system.provision` before they are called."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

import pytest

from tests.system_marker import needs_system

_ROOT = Path(__file__).parents[1]
_PROVISION = _ROOT / "tests/system/provision.py"
_PROVIDERS = ("tests.system.provision", "tests.pipeline.apache_kafka")
_PROGRAMS = ("mvn", "java", "javac", "keytool", "node", "npm", "kcat", "openssl", "gcc")


@pytest.mark.parametrize(
    ("path", "fixtures", "expected"),
    [
        ("tests/system/test_interop.py", set(), True),
        ("tests/system/pipeline/drills/test_killed_driver.py", {"tmp_path"}, True),
        ("tests/pipeline/test_engine.py", {"engine", "spark"}, True),
        ("tests/pipeline/test_topic_client.py", {"topics"}, True),
        ("tests/pipeline/test_offsets.py", {"tmp_path"}, False),
        ("tests/tools/chaos/faults/test_power.py", {"power"}, True),
        ("tests/tools/chaos/test_plan.py", set(), False),
        ("tests/controller/topics/test_topic_control.py", {"topics"}, False),
    ],
)
def test_by_folder_or_fixture(path: str, fixtures: set[str], expected: bool) -> None:
    assert needs_system(PurePath(path), frozenset(fixtures)) is expected


def bare_programs(tree: ast.AST) -> Iterator[int]:
    """Lines of argument lists that begin with a program's bare name, as in `["java", "-cp", path]`."""
    for part in ast.walk(tree):
        if isinstance(part, ast.List) and part.elts:
            first = part.elts[0]
            if isinstance(first, ast.Constant) and first.value in _PROGRAMS:
                yield part.lineno


def needy_tests(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The tests of a file that use a name which it imports from a provider of programs."""
    names = {
        name.asname or name.name
        for part in tree.body
        if isinstance(part, ast.ImportFrom) and part.module in _PROVIDERS
        for name in part.names
    }
    functions = (part for part in tree.body if isinstance(part, ast.FunctionDef))
    for function in functions:
        used = {part.id for part in ast.walk(function) if isinstance(part, ast.Name)}
        if function.name.startswith("test_") and names & used:
            yield function


def is_system_test(path: Path, test: ast.FunctionDef) -> bool:
    marks = {ast.unparse(decorator) for decorator in test.decorator_list}
    fixtures = frozenset(argument.arg for argument in test.args.args)
    return "pytest.mark.system" in marks or needs_system(path.relative_to(_ROOT), fixtures)


def texts_with(words: Iterable[str], *folders: str) -> dict[Path, str]:
    """The Python files below the folders that have one of the words; to parse them all takes long."""
    texts = {path: path.read_text() for folder in folders for path in (_ROOT / folder).rglob("*.py")}
    return {path: text for path, text in texts.items() if any(word in text for word in words)}


def test_programs_are_provided_before_they_are_called() -> None:
    texts = texts_with([f'"{name}"' for name in _PROGRAMS], "tests", "bench")
    texts.pop(_PROVISION)
    assert [f"{path}:{line}" for path, text in texts.items() for line in bare_programs(ast.parse(text))] == []


def test_tests_that_need_a_program_are_system_tests() -> None:
    """`make unit` runs without Maven, Java and Node."""
    assert [
        f"{path}::{test.name}"
        for path, text in texts_with(_PROVIDERS, "tests").items()
        for test in needy_tests(ast.parse(text))
        if not is_system_test(path, test)
    ] == []


def test_a_bare_program_and_an_unmarked_test_are_seen() -> None:
    text = """
from tests.pipeline.apache_kafka import apache_kafka

def test_a(tmp_path):
    with apache_kafka(tmp_path):
        run(["java", "-version"])

@pytest.mark.system
def test_b():
    apache_kafka()

def test_c():
    run([command("java")], {"java": 1})
"""
    tree = ast.parse(text)
    assert list(bare_programs(tree)) == [6]
    found = {test.name: is_system_test(_ROOT / "tests/pipeline/test_x.py", test) for test in needy_tests(tree)}
    assert found == {"test_a": False, "test_b": True}
