"""The walks of docs/architecture.md are what a running cluster does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.walks.comparison import REPEATS, PageWalk, differences, read_walk
from tests.walks.recording import SOURCE
from tests.walks.scenarios import Scenarios, running_scenarios
from tests.walks.table import NOT_COUNTED, WALKS, Walk

PAGE = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text()
ROUTER, LOG = "broker/router.py Router.submit", "storage/log.py Log.read"


@pytest.fixture(scope="module")
def scenarios() -> Iterator[Scenarios]:
    with running_scenarios() as running:
        yield running


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.name)
def test_the_page_has_the_files_and_functions_of_the_request(scenarios: Scenarios, walk: Walk) -> None:
    recordings = [scenarios.record(walk) for _ in range(REPEATS)]
    found = differences(read_walk(PAGE, walk.heading), recordings)
    assert not found, "docs/architecture.md, " + walk.heading + ":\n" + "\n".join(found)


def test_the_page_names_what_is_not_counted_and_the_fast_path() -> None:
    assert [pattern for pattern in NOT_COUNTED if f"`{pattern}`" not in PAGE] == []
    source = Path(__file__).parents[2] / "src" / "signalbox" / "broker" / "fast_path"
    files = [path.name for path in source.glob("*.py") if path.name != "__init__.py"]
    assert [name for name in files if f"`{name}`" not in PAGE] == []


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.name)
def test_each_function_of_the_table_exists(walk: Walk) -> None:
    missing = []
    for name in (*walk.follows, *walk.leaves):
        file, _, function = name.partition("@")[0].partition(" ")
        if f"def {function.rpartition('.')[2]}(" not in (SOURCE / file).read_text():
            missing.append(name)
    assert missing == []


def test_what_is_wrong_is_named_with_the_remedy() -> None:
    recordings = [[ROUTER, LOG], [ROUTER, LOG]]
    assert differences(PageWalk([ROUTER, LOG], 2), recordings) == []
    assert differences(PageWalk([ROUTER], 1), recordings) == [
        "storage/log.py: not on the page. Add a row where it is called first, "
        "or leave what it does in walks.toml: Log.read"
    ]
    assert differences(PageWalk([ROUTER, LOG], 2), [[ROUTER], [ROUTER]]) == [
        "storage/log.py: the request does not pass it. Remove its rows"
    ]
    assert differences(PageWalk([ROUTER, LOG, "storage/old.py read"], 3), recordings) == [
        "storage/old.py: does not exist. Correct or remove its rows"
    ]
    assert differences(PageWalk([ROUTER, "storage/log.py Log.write"], 2), recordings) == [
        "storage/log.py Log.write: not called. Name a function of the file that is"
    ]
    assert differences(PageWalk([LOG, ROUTER], 3), recordings) == [
        f"{ROUTER}: called before {LOG}. Move its row up",
        "below the table: write 'Files: 2', not 3",
    ]


def test_a_file_that_one_recording_lacks_does_not_belong_to_the_walk() -> None:
    assert differences(PageWalk([ROUTER], 1), [[ROUTER, LOG], [ROUTER]]) == []


def test_a_walk_is_read_from_its_section() -> None:
    page = "\n### A\n\n| `broker/router.py` | `Router.submit` | takes |\n\nFiles: 1.\n\n### B\n| `b.py` | `b` | c |\n"
    assert read_walk(page, "A") == PageWalk([ROUTER], 1)
    with pytest.raises(ValueError, match="no section '### C'"):
        read_walk(page, "C")
