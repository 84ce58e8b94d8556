"""Each walk of docs/architecture.md is what a running cluster does: its functions are called, in its order."""

from __future__ import annotations

import pytest

from tests.walks.walks import PAGE, Step, first_missing, read_walks, record_walks

TEXT = """
### Walk: one
2 files.

| File | Function | What |
|---|---|---|
| `a/b.py` | `First.run` | starts |
| `c.py` | `second` | ends |

## Other
| `d.py` | `third` | no walk |
"""
ONE, TWO, THREE = Step("a/b.py", "First.run"), Step("c.py", "second"), Step("d.py", "third")


@pytest.fixture(scope="module")
def recorded() -> dict[str, list[Step]]:
    return record_walks()


def test_the_page_is_read() -> None:
    walks = read_walks(TEXT)
    assert list(walks) == ["one"]
    assert walks["one"].steps == [ONE, TWO]
    assert walks["one"].files_on_page == 2


def test_a_step_must_follow_the_one_before() -> None:
    assert first_missing([ONE, TWO], [THREE, ONE, THREE, TWO]) == ""
    assert first_missing([ONE, TWO], [TWO, ONE]) == "c.py second is called before the step above it only"
    assert first_missing([ONE, TWO], [ONE, THREE]) == "c.py second is not called"


@pytest.mark.parametrize("title", read_walks(PAGE.read_text()))
def test_a_cluster_walks_so(title: str, recorded: dict[str, list[Step]]) -> None:
    walk = read_walks(PAGE.read_text())[title]
    missing = first_missing(walk.steps, recorded[title])
    assert not missing, f"{PAGE}, {title}: {missing}; mend the table"
    assert walk.files_on_page == len({step.file for step in walk.steps}), f"{PAGE}, {title}: count the files again"


def test_all_are_on_the_page(recorded: dict[str, list[Step]]) -> None:
    assert set(read_walks(PAGE.read_text())) == set(recorded)
