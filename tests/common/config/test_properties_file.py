import pytest

from signalbox.common.config.properties_file import parse_properties, properties_text

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


@pytest.mark.parametrize("digits", ["XY", "+12a", "1_00", "", "d83d", "d83d\\u0041", "dc00", "0000"])
def test_a_broken_escape_names_its_line(digits: str) -> None:
    with pytest.raises(ValueError, match=r"^f:2: .*u"):
        parse_properties(f"a=1\nb=\\u{digits}", "f")


def test_lines_end_where_java_ends_them() -> None:
    found = parse_properties("a=1\x0b\x1c\x85\u2028z\r\nb=2\rc=3\n\fd=4", "f")
    assert found.values == {"a": "1\x0b\x1c\x85\u2028z", "b": "2", "c": "3", "d": "4"}
    assert found.where("d") == "f:4"


def test_what_is_put_over_the_file_says_where_it_came_from() -> None:
    found = parse_properties("a=1\nb=2", "f")
    found.override("b=3", "--override")
    assert found.values == {"a": "1", "b": "3"}
    assert (found.where("a"), found.where("b")) == ("f:1", "--override")


def test_a_key_with_its_old_name_is_read_as_the_key_of_today() -> None:
    properties = parse_properties("metadata.store=sqlite:m.db\nnode.id=1", "f")
    assert properties.values == {"signalbox.metadata.store": "sqlite:m.db", "node.id": "1"}
    assert properties.where("signalbox.metadata.store") == "f:1"
    assert properties.renamed == [("metadata.store", "f:1")]


def test_the_old_and_the_new_name_are_one_key_that_is_set_twice() -> None:
    properties = parse_properties("signalbox.audit.enable=false\naudit.enable=true", "f")
    assert properties.values == {"signalbox.audit.enable": "true"}
    assert properties.duplicates == [("signalbox.audit.enable", 1)]


def test_an_override_may_have_an_old_name() -> None:
    properties = parse_properties("signalbox.metrics.http.port=0", "f")
    properties.override("metrics.http.port=9404", "--override")
    assert properties.values == {"signalbox.metrics.http.port": "9404"}
    assert properties.renamed == [("metrics.http.port", "--override")]


@pytest.mark.parametrize(
    "value", ["", "a=b:c#d", " x ", "a\nb=2", "\r\f\t", "C:\\new\\u0041\\", "r\u00e9plica \U0001f682", "# no comment"]
)
def test_what_is_written_is_read_again(value: str) -> None:
    values = {"first": value, "#a key:=\n\\": value, "last": "1"}
    assert parse_properties(properties_text(values)).values == values


def test_ordinary_values_are_written_as_they_are() -> None:
    assert (
        properties_text({"listeners": "CLIENT://:1,X://:2", "a.b": "C=d e"})
        == "listeners=CLIENT://:1,X://:2\na.b=C=d e\n"
    )
