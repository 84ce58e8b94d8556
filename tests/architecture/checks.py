"""The table of the checks: name -> excesses. The test and the command read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tests.architecture import mirror, sizes, waits, yields
from tests.architecture.banned_words import banned_words, load_rules
from tests.architecture.exceptions import load_exceptions
from tests.architecture.excess import Excess
from tests.architecture.source_tree import SourceFile

Check = Callable[[Sequence[SourceFile]], list[Excess]]

CHECKS: Mapping[str, Check] = {
    "banned_words": lambda files: banned_words(files, load_rules()),
    "long_files": sizes.long_files,
    "long_functions": sizes.long_functions,
    "wide_constructors": sizes.wide_constructors,
    "full_folders": lambda files: sizes.full_folders(files, load_exceptions("full_folders")),
    "small_files": lambda files: sizes.small_files(files, load_exceptions("small_files")),
    "files_without_test": lambda files: mirror.files_without_test(files, load_exceptions("files_without_test")),
    "sleeps": lambda files: waits.sleeps(files, load_exceptions("sleeps")),
    "unmarked_yields": yields.unmarked_yields,
    "short_bounds": lambda files: waits.short_bounds(files, load_exceptions("short_bounds")),
}
