from __future__ import annotations

import pytest

from signalbox.coordinator.group_partition import java_string_hash, partition_for


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("Hello World", -862545276),
        ("polygenelubricants", -2147483648),
        ("ä", 228),
        ("\U0001f600", 1772899),
    ],
)
def test_hash_codes_as_java_gives_them(text: str, value: int) -> None:
    assert java_string_hash(text) == value


def test_the_partition_is_the_absolute_value_not_a_mask() -> None:
    assert partition_for("Hello World", 50) == 862545276 % 50
    assert partition_for("hello", 50) == 99162322 % 50


def test_the_one_number_without_an_absolute_value_goes_to_partition_0() -> None:
    assert partition_for("polygenelubricants", 50) == 0
