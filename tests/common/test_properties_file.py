import pytest

from signalbox.common.properties_file import parse_properties

TEXT = """# comment
! another
 listeners = CLIENT://:9092, \\
     CONTROL://:9093
broker.id:1
super.users User:CN=a\\,b;User:x
empty=
unicode=\\u00e9\\t|
broker.id=2
last=a\\\\
"""


def test_the_grammar() -> None:
    found = parse_properties(TEXT, "f")
    assert found.values == {
        "listeners": "CLIENT://:9092, CONTROL://:9093",
        "broker.id": "2",
        "super.users": "User:CN=a,b;User:x",
        "empty": "",
        "unicode": "é\t|",
        "last": "a\\",
    }


def test_lines_are_those_where_an_entry_begins_and_duplicates_are_kept() -> None:
    found = parse_properties(TEXT, "f")
    assert found.where("listeners") == "f:3"
    assert found.where("broker.id") == "f:9"
    assert found.duplicates == [("broker.id", 5)]
    assert found.where("absent") == "f"


def test_a_broken_escape_names_its_line() -> None:
    with pytest.raises(ValueError, match=r"f:2: .*uXY"):
        parse_properties("a=1\nb=\\uXY", "f")
