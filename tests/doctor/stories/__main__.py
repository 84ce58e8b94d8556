"""`make doctor-stories`: story, expected codes, reported codes; the last line has the count."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from tests.doctor.stories.ground import Ground
from tests.doctor.stories.stories import STORIES, Story


def run(stories: Sequence[Story] = STORIES, build: Callable[[], AbstractContextManager[Ground]] = Ground) -> int:
    """Prints a line per story, and the counts in any case; returns the number of failed ones."""
    passed = 0
    try:
        with build() as ground:
            for story in stories:
                passed += _passes(ground, story)
    finally:  # also if the ground itself fails
        print(f"{passed} passed, {len(stories) - passed} failed", flush=True)
    return len(stories) - passed


def _passes(ground: Ground, story: Story) -> bool:
    """A story that raises has failed, and the next one finds the ground restored."""
    codes: tuple[str, ...] = ()
    raised = ""
    try:
        codes = tuple(sorted({finding.code for finding in story.build(ground)}))
    except Exception as error:
        traceback.print_exc()
        raised = f"{type(error).__name__}: {error}"
    finally:
        ground.restore()
    passes = not raised and codes == story.codes
    mark = "ok  " if passes else "FAIL"
    print(f"{mark}  {story.name:42}  expected {_text(story.codes):60}  reported {raised or _text(codes)}", flush=True)
    return passes


def _text(codes: tuple[str, ...]) -> str:
    return " ".join(codes) or "(nothing)"


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # the brokers report the rejected connections
    sys.exit(1 if run() else 0)
