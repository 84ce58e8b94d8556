"""`make doctor-stories`: story, expected codes, reported codes; the last line has the count."""

from __future__ import annotations

import logging
import sys

from tests.doctor.stories.ground import Ground
from tests.doctor.stories.stories import STORIES


def run() -> int:
    """Prints a line per story; returns the number of failed ones."""
    logging.disable(logging.WARNING)  # the brokers report the rejected connections
    failed = 0
    with Ground() as ground:
        for story in STORIES:
            codes = tuple(sorted({finding.code for finding in story.build(ground)}))
            ground.restore()
            failed += codes != story.codes
            mark = "ok  " if codes == story.codes else "FAIL"
            print(f"{mark}  {story.name:42}  expected {_text(story.codes):60}  reported {_text(codes)}", flush=True)
    print(f"{len(STORIES) - failed} passed, {failed} failed")
    return failed


def _text(codes: tuple[str, ...]) -> str:
    return " ".join(codes) or "(nothing)"


if __name__ == "__main__":
    sys.exit(1 if run() else 0)
