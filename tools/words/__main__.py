"""`make words`: lists the unknown and the banned words with their places; exit code 1 if there is one.

The last line is `N words: N unknown, N banned`. Paths as arguments restrict the list to places that begin with one of
them; keys, metrics and commands are left out then.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.architecture.banned_words import banned_words, load_rules
from tests.architecture.excess import Excess
from tests.architecture.source_tree import repository_files

from tools.words.own_names import all_words
from tools.words.vocabulary import vocabulary

_ROOT = Path(__file__).parents[2]
_PLACES_SHOWN = 3


def main(arguments: Sequence[str] | None = None, root: Path = _ROOT) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.words")
    parser.add_argument("paths", nargs="*", help="only words whose place begins so")
    chosen = tuple(parser.parse_args(arguments).paths) or ""
    known = vocabulary(root / "docs" / "glossary.md")
    places: dict[str, list[str]] = defaultdict(list)
    for word, place in all_words(root):
        if place.startswith(chosen):
            places[word].append(place)
    unknown = {word: found for word, found in sorted(places.items()) if word not in known}
    for word, found in unknown.items():
        more = f" and {len(found) - _PLACES_SHOWN} more" if len(found) > _PLACES_SHOWN else ""
        print(f"{word}: {', '.join(found[:_PLACES_SHOWN])}{more}")
    if unknown:
        print("Use a plain English word or Kafka's; a term that is needed gets a row in docs/glossary.md.")
    banned = [place for excess in _excesses() for place in excess.places if place.path.startswith(chosen)]
    for hit in banned:
        print(hit)
    print(f"{len(places)} words: {len(unknown)} unknown, {len(banned)} banned")
    return 1 if unknown or banned else 0


@cache
def _excesses() -> tuple[Excess, ...]:
    """The banned words of the whole repository, whatever part of it is listed."""
    return tuple(banned_words(repository_files(), load_rules()))


if __name__ == "__main__":
    sys.exit(main())
