"""Sizes: each check finds what is one over its limit, and passes what is at it."""

from __future__ import annotations

from tests.architecture import sizes
from tests.architecture.excess import Excess
from tests.architecture.source_tree import SourceFile


def python(text: str, path: str = "src/signalbox/a.py") -> list[SourceFile]:
    return [SourceFile(path, text)]


def figures(excesses: list[Excess]) -> dict[str, int]:
    return {excess.key: excess.figure for excess in excesses}


def test_long_files() -> None:
    assert figures(sizes.long_files(python("x\n" * 401))) == {"src/signalbox/a.py": 401}
    assert figures(sizes.long_files(python("x\n" * 400))) == {}
    assert figures(sizes.long_files(python("x\n" * 401, "docs/a.md"))) == {}


def test_long_functions_in_classes_branches_and_functions() -> None:
    body = "            x = 1\n" * 70
    text = f"class A:\n    if True:\n        async def f(self):\n{body}\ndef g():\n    pass\n"
    (excess,) = sizes.long_functions(python(text))
    assert (excess.key, excess.figure, excess.places[0].line) == ("src/signalbox/a.py::A.f", 71, 3)
    assert sizes.long_functions(python("def f():\n" + "    x = 1\n" * 69)) == []


def test_a_long_function_that_contains_short_ones() -> None:
    inner = "    def g():\n        pass\n" * 35
    assert figures(sizes.long_functions(python(f"def f():\n{inner}"))) == {"src/signalbox/a.py::f": 71}


def test_wide_constructors() -> None:
    text = "class A:\n    def __init__(self, a, b, c, d, *, e{more}) -> None: ...\n"
    assert figures(sizes.wide_constructors(python(text.format(more=", f")))) == {"src/signalbox/a.py::A": 6}
    assert figures(sizes.wide_constructors(python(text.format(more="")))) == {}


def test_full_folders() -> None:
    files = [SourceFile(f"src/signalbox/b/{number}.py", "") for number in range(19)]
    mirror = [SourceFile(f"tests/b/test_{number}.py", "") for number in range(19)]
    opening = SourceFile("src/signalbox/b/__init__.py", "")
    assert figures(sizes.full_folders([*files, *mirror], ())) == {"src/signalbox/b": 19}
    assert figures(sizes.full_folders([*files[:18], opening], ())) == {}
    assert figures(sizes.full_folders(files, ["src/signalbox/b"])) == {}
    assert figures(sizes.full_folders(mirror, ())) == {"tests/b": 19}


def test_small_files() -> None:
    small = '"""A docstring\nof two lines."""\n\n# comment\n' + "x = 1\n" * 24
    assert figures(sizes.small_files(python(small), ())) == {"src/signalbox/a.py": 1}
    assert figures(sizes.small_files(python(small + "x = 1\n"), ())) == {}
    assert figures(sizes.small_files(python(small), ["*/a.py"])) == {}
    assert figures(sizes.small_files(python(small, "tests/a.py"), ())) == {}
