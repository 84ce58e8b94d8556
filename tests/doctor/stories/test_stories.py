from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from signalbox.doctor.finding import Finding
from tests.doctor.stories.__main__ import run
from tests.doctor.stories.ground import Ground
from tests.doctor.stories.stories import STORIES, Story

pytestmark = pytest.mark.spec("R7", "R8")


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with Ground() as built:
        yield built


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_the_doctor_reports_these_codes_and_no_others(ground: Ground, story: Story) -> None:
    try:
        findings = story.build(ground)
    finally:
        ground.restore()
    assert sorted({finding.code for finding in findings}) == list(story.codes), findings


def raises(ground: Ground) -> list[Finding]:
    raise AssertionError("it was not built")


HEALTHY = next(story for story in STORIES if not story.codes)


def test_a_story_that_raises_has_failed_and_the_others_go_on(
    ground: Ground, capsys: pytest.CaptureFixture[str]
) -> None:
    stories = (Story("broken", (), raises), HEALTHY, Story("other codes", ("CROSSED",), HEALTHY.build))
    assert run(stories, lambda: nullcontext(ground)) == 2
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["FAIL", "ok", "FAIL"]
    assert lines[0].endswith("reported AssertionError: it was not built")
    assert lines[3:] == ["1 passed, 2 failed"]


def test_without_a_ground_all_have_failed(capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> Ground:
        raise OSError("no free port")

    with pytest.raises(OSError, match="no free port"):
        run((HEALTHY,), broken)
    assert capsys.readouterr().out == "0 passed, 1 failed\n"
