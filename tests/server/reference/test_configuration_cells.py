"""Each key of the reference has what a reader needs to set it: unit, range, default or an example that is accepted."""

from __future__ import annotations

import pytest

from signalbox.common.config.config_table import ConfigRow, ConfigType, at_least, between, one_of
from signalbox.server.reference.configuration_cells import EXAMPLES, allowed, example, unit
from signalbox.server.reference.pages import CONFIG_SECTIONS

_ROWS = [row for _, table in CONFIG_SECTIONS for row in table]
_NUMBERS = (ConfigType.INT, ConfigType.LONG, ConfigType.SHORT, ConfigType.DOUBLE)
_QUANTITIES = ("ms", "us", "bytes", "seconds", "minutes", "hours", "memory", "rate")


def test_a_quantity_has_a_unit() -> None:
    rows = [row for row in _ROWS if row.type in _NUMBERS and row.name.rpartition(".")[2] in _QUANTITIES]
    assert len(rows) > 100
    assert [row.name for row in rows if not unit(row)] == []


def test_a_key_whose_values_are_checked_has_a_range() -> None:
    assert [row.name for row in _ROWS if row.validator is not None and not allowed(row)] == []


# Keys of Java's security providers have no effect here: no value of theirs is an example.
_JAVA = {
    "ssl.engine.factory.class",
    "ssl.keymanager.algorithm",
    "ssl.trustmanager.algorithm",
    "ssl.provider",
    "ssl.secure.random.implementation",
    "security.providers",
}


def test_a_key_without_default_has_an_example_that_is_accepted() -> None:
    rows = [row for row in _ROWS if row.default in (None, "", []) and row.name not in _JAVA]
    assert [row.name for row in rows if not example(row)] == []
    for row in rows:
        row.parse(example(row))


def test_no_example_is_left_over() -> None:
    assert EXAMPLES.keys() - {row.name for row in _ROWS if example(row)} == set()


@pytest.mark.parametrize(
    ("validator", "phrase"),
    [(at_least(1), "≥ 1"), (between(0, 0.5), "0 to 0.5"), (one_of("a", "b"), "`a`, `b`"), (None, "")],
)
def test_the_range_is_that_of_the_validator(validator: object, phrase: str) -> None:
    row = ConfigRow("any.key", ConfigType.DOUBLE, 0.5, "A key.", validator)  # type: ignore[arg-type]
    assert allowed(row) == phrase
