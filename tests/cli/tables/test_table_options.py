"""Lists of columns on the command line."""

from __future__ import annotations

from signalbox.cli.tables.table_options import columns_of


def test_columns_are_separated_by_commas() -> None:
    assert columns_of(None) == ()
    assert columns_of("carrier, day") == ("carrier", "day")
    assert columns_of("") == ("",)  # rejected with the other options
