"""Yields: which functions must say that other code may run while they do."""

from __future__ import annotations

import pytest

from tests.architecture.source_tree import SourceFile
from tests.architecture.yields import unmarked_yields

IMPORT = "from signalbox.common.cooperative_task import clear, no_yield, yield_if_due, yielding\n"


def unmarked(text: str, **others: str) -> list[str]:
    """The functions of src/signalbox/a.py that the check reports, as "line name"; `others` are files beside it."""
    files = [SourceFile(f"src/signalbox/{name}.py", IMPORT + other) for name, other in others.items()]
    places = [
        place
        for excess in unmarked_yields([SourceFile("src/signalbox/a.py", IMPORT + text), *files])
        for place in excess.places
    ]
    assert all("write `Yields.`" in place.advice for place in places)
    return [f"{place.line} {place.advice.split()[0]}" for place in places if place.path == "src/signalbox/a.py"]


@pytest.mark.parametrize(
    "call", ["yield_if_due()", "list(yielding([]))", "clear(values)", "any(x for x in yielding(y))"]
)
def test_a_function_that_calls_a_primitive_says_so(call: str) -> None:
    assert unmarked(f"def f():\n    1\n    {call}\n") == ["4 f"]
    assert unmarked(f"class C:\n    def f(self):\n        {call}\n") == ["4 C.f"]


@pytest.mark.parametrize(
    "mark", ["Yields.", "Removes it. Yields: compare again.", "Yields between two.", "Yields, but"]
)
def test_a_marked_function(mark: str) -> None:
    assert unmarked(f'def f():\n    """{mark}"""\n    yield_if_due()\n') == []


@pytest.mark.parametrize("text", ["Yields an offset after every record.", "It yields.", "Nothing."])
def test_what_is_no_mark(text: str) -> None:
    assert unmarked(f'def f():\n    """{text}"""\n    yield_if_due()\n') == ["4 f"]


@pytest.mark.parametrize(
    "body",
    [
        "with no_yield():\n        yield_if_due()",
        "scheduler.run(yield_if_due)",
        "scheduler.run(lambda: yield_if_due())",
        "def inner():\n        yield_if_due()\n    scheduler.run(inner)",
        "values.clear()",
        "'yield_if_due()'",
    ],
)
def test_what_does_not_yield(body: str) -> None:
    assert unmarked(f"def f():\n    {body}\n") == []


def test_a_coroutine_is_no_cooperative_task() -> None:
    assert unmarked("async def f():\n    yield_if_due()\n") == []
    assert unmarked('async def f():\n    """Yields."""\n\ndef g():\n    start(f())\n') == []


MARKED = 'def works():\n    """Yields."""\n'


def test_a_call_of_a_marked_function() -> None:
    assert unmarked(f"{MARKED}\ndef f():\n    works()\n") == ["6 f"]
    assert unmarked("from signalbox.b import works as w\n\ndef f():\n    w()\n", b=MARKED) == ["5 f"]
    assert unmarked("from signalbox.b import works\n\ndef f():\n    works()\n", b="def works(): ...") == []
    assert unmarked("def f():\n    works()\n", b=MARKED) == [], "another module's function, not imported"


def test_a_call_of_a_marked_method() -> None:
    marked = 'class B:\n    def works(self):\n        """Yields."""\n'
    assert unmarked(f"{marked}\n    def f(self):\n        self.works()\n") == ["7 B.f"]
    call = "def f(other):\n    other.works()\n"
    assert unmarked(call, b=marked) == ["3 f"]
    assert unmarked(call, b=marked, c="class C:\n    def works(self): ...\n") == [], "one of two is not marked"
    assert unmarked(call, b=MARKED) == [], "not a method"
    assert unmarked("def f(other):\n    other.update()\n", b=marked.replace("works", "update")) == [], "as dict.update"
    assert unmarked("def f(other):\n    other._works()\n", b=marked.replace("works", "_works")) == [], "private"


def test_only_the_product_is_checked() -> None:
    text = IMPORT + "def f():\n    yield_if_due()\n"
    assert unmarked_yields([SourceFile("tests/test_a.py", text), SourceFile("docs/a.md", "yield_if_due()")]) == []
