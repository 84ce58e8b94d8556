"""The documents are consistent: cited numbers are explained, links have targets, decisions are numbered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from signalbox.broker.conformance import read_conformance
from tests.spec_numbers import NUMBERS

_ROOT = Path(__file__).parents[1]
_DOCS = _ROOT / "docs"
_PAGES = sorted([*_ROOT.glob("*.md"), *_DOCS.rglob("*.md")])
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_SOURCE = _ROOT / "src" / "signalbox"
_NOT_OURS = ("build", ".venv")  # folders that are made by commands
_PATH = re.compile(r"[\w.*<>/-]+")
_SOURCES = ("src", "tools", "tests", "bench", "docs")


def _rows(page: Path) -> list[str]:
    """The first cell of each table row that begins with a requirement number."""
    return re.findall(r"^\| ([A-Z]\d*) \|", page.read_text(encoding="utf-8"), re.MULTILINE)


def test_each_number_that_tests_may_carry_is_explained_once() -> None:
    assert _rows(_DOCS / "requirements.md") == list(NUMBERS)


def test_conformance_names_requirements_that_exist() -> None:
    rows = read_conformance(_DOCS / "conformance.toml").requirements
    assert {row.name.partition(" ")[0] for row in rows} <= set(NUMBERS)


def test_decisions_have_a_number_each_and_a_row_in_the_index() -> None:
    pages = sorted(page.name for page in (_DOCS / "decisions").glob("[0-9]*.md"))
    numbers = [name[:4] for name in pages]
    assert numbers == [f"{number:04}" for number in range(1, len(pages) + 1)]
    index = (_DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[(\d{4})\]\((.+?)\) \|", index, re.MULTILINE) == list(zip(numbers, pages, strict=True))
    for name in pages:
        assert (_DOCS / "decisions" / name).read_text(encoding="utf-8").startswith(f"# {name[:4]} ")


def test_decisions_that_are_cited_exist() -> None:
    cited: dict[str, Path] = {}
    for folder in _SOURCES:
        for file in (_ROOT / folder).rglob("*.*"):
            if file.suffix in {".py", ".md", ".toml"}:
                cited |= dict.fromkeys(re.findall(r"\bdecision (\d+)", file.read_text(encoding="utf-8")), file)
    there = {page.name[:4] for page in (_DOCS / "decisions").glob("[0-9]*.md")}
    assert {number: file for number, file in cited.items() if number not in there} == {}


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(_ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = [link for link in _LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def _paths(page: Path) -> list[str]:
    """The words in backticks that look like paths of the repository; `<...>` stands for any name, as `*` does."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    words = [word for span in re.findall(r"`([^`\n]+)`", text) for word in span.split() if "/" in word]
    return [re.sub(r"<[^<>]*>", "*", word).rstrip("/,") for word in words if _PATH.fullmatch(word) and word[0] != "/"]


def _exists(path: str) -> bool:
    """Whether a path of the repository, or of the package, exists; a module may be named without `.py`, or with a class
    in it. A path that begins with none of their folders is the end of one, as in a section about a package, if it has a
    suffix of our files; all others are no paths of the repository (`build/`, `application/json`)."""
    first = path.partition("/")[0]
    bases = [base for base in (_ROOT, _SOURCE) if (base / first).is_dir() and first not in _NOT_OURS]
    if not bases:
        return not path.endswith((".py", ".toml", ".md")) or any(_ROOT.glob(f"*/**/{path}"))
    module = path.rpartition(".")[0] if re.search(r"\.[A-Z]\w*$", path) else path
    return any(any(bases[0].glob(each)) for each in (path, f"{module}.py"))


@pytest.mark.parametrize(
    "page",
    [_ROOT / "CONTRIBUTING.md", _ROOT / "README.md", *sorted(_DOCS.glob("*.md")), *sorted(_DOCS.glob("*.toml"))],
    ids=lambda page: page.name,
)
def test_paths_that_are_named_exist(page: Path) -> None:
    assert [path for path in _paths(page) if not _exists(path)] == []


@pytest.mark.parametrize(
    ("path", "exists"),
    [
        ("src/signalbox/broker/handlers/*/create_topics.py", True),
        ("src/signalbox/broker/handlers/create_topics.py", False),
        ("controller/topics/topic_control", True),
        ("controller/topic_control", False),
        ("client/connection/token_refresher.TokenRefresher", True),
        ("client/token_refresher.TokenRefresher", False),
        ("topics/topic_control.py", True),
        ("topics/no_such_file.py", False),
        ("build/chaos.json", True),
        ("application/json", True),
    ],
)
def test_what_counts_as_a_path_that_exists(path: str, exists: bool) -> None:
    assert _exists(path) is exists


@pytest.mark.parametrize("page", [_ROOT / "README.md", *_DOCS.glob("first-hour-*.md")], ids=lambda page: page.name)
def test_commands_are_those_of_install(page: Path) -> None:
    """A reader of *Install* has no `.venv`."""
    blocks = re.findall(r"^```\w*\n.*?^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert [block for block in blocks if ".venv/" in block] == []


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(_ROOT)))
def test_no_conflict_of_a_merge_is_left(page: Path) -> None:
    assert re.findall(r"^(?:<{7} |={7}$|>{7} ).*", page.read_text(encoding="utf-8"), re.MULTILINE) == []
