"""Stages the pages, builds the site with Sphinx (a warning is an error) and checks the built pages.

The last line is `N pages, N links: N broken`. Exit code 1 if a link is broken or Sphinx warned.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.site.built_pages import faults, links, unsearchable
from tools.site.staging import stage

_ROOT = Path(__file__).parents[2]
_SETTINGS = {
    "project": "Signalbox",
    "html_title": "Signalbox",
    "html_theme": "furo",
    "html_copy_source": "0",
    "html_show_sourcelink": "0",
    "extensions": "myst_parser",
    "highlight_language": "text",
    "myst_heading_anchors": "4",
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.site")
    parser.add_argument("target", type=Path, help="folder of the site; its sources are beside it, in <target>-source")
    target: Path = parser.parse_args(arguments).target
    source = target.with_name(f"{target.name}-source")
    stage(_ROOT, source)
    shutil.rmtree(target, ignore_errors=True)
    if build(source, target) != 0:
        print("Sphinx found faults in the pages (above).")
        return 1
    broken = [*faults(target), *(f"{page} is not in the search" for page in unsearchable(target, source))]
    for fault in broken:
        print(fault)
    pages = sum(1 for _ in target.rglob("*.html"))
    print(f"{pages} pages, {links(target)} links: {len(broken)} broken")
    return 1 if broken else 0


def build(source: Path, target: Path) -> int:
    """Runs Sphinx over the staged source; returns its exit code, which is not 0 if it warned of anything."""
    settings = [word for key, value in _SETTINGS.items() for word in ("-D", f"{key}={value}")]
    strict = ["--fail-on-warning", "--keep-going", "--nitpicky", "--quiet"]
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-C", *strict, *settings, str(source), str(target)]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
