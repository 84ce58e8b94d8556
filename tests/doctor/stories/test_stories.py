from __future__ import annotations

from collections.abc import Iterator

import pytest

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
