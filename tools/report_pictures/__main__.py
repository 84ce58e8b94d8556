"""Checks every page in every view: `python -m tools.report_pictures [FOLDER]`. The last line is `N passed, N failed`.

The folder, by default build/report-pictures, gets the pages and a picture of each view.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tools.report_pictures.browser import VIEWS, save_picture
from tools.report_pictures.pages import ROOT, Page, all_pages
from tools.report_pictures.text_faults import text_faults

_HEIGHTS = {480: 9000, 1280: 4500}
"""Of the pictures, by width: as much as the longest page needs."""


def main(arguments: Sequence[str] | None = None, pages: Iterable[Page] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    target = Path(given[0]) if given else ROOT / "build" / "report-pictures"
    shutil.rmtree(target, ignore_errors=True)
    passed = failed = 0
    for page in all_pages() if pages is None else pages:
        folder = target / page.name
        folder.mkdir(parents=True)
        file = page.write(folder)
        for view in VIEWS:
            faults = text_faults(file, view)
            print(f"{'FAILED' if faults else 'passed'}  {page.name}, {view}", flush=True)
            print("".join(f"    {fault}\n" for fault in faults), end="")
            save_picture(file, view, folder / f"{view.width}-{view.scheme}.png", _HEIGHTS[view.width])
            passed, failed = passed + (not faults), failed + bool(faults)
    print(f"pictures: {target}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
