import pytest

from signalbox.protocol.schema import VersionRange
from signalbox.protocol.schema_text import parse_message

TABLE = """
    PartyRequest   api 500   versions 1-4   flexible 3+

    Host         0+    string
    Guests       0+    []Guest?2+
      Name       0+    string? = null   ignorable
      Age        1+    int32 = -1
      Location   0+    Place            tag 0
    Token        2-3   uuid
    Gift         0+    records?

    struct Place
      Row        0+    int16
      Window     0+    bool = true
"""


def test_a_table_becomes_a_schema() -> None:
    party = parse_message(TABLE)
    assert (party.name, party.api_key) == ("PartyRequest", 500)
    assert (party.versions, party.flexible) == (VersionRange(1, 4), VersionRange.parse("3+"))
    assert [field.name for field in party.root.fields] == ["Host", "Guests", "Token", "Gift"]
    assert set(party.structs) == {"Guest", "Place"}
    guests = party.root.fields[1]
    assert (guests.type_name, guests.is_array, guests.nullable) == ("Guest", True, VersionRange.parse("2+"))
    name, age, location = party.structs["Guest"].fields
    assert (name.default, name.ignorable, name.nullable) == (None, True, VersionRange.parse("0+"))
    assert (age.default, age.ignorable) == (-1, False)
    assert (location.tag, location.type_name, location.default) == (0, "Place", ())
    row, window = party.structs["Place"].fields
    assert (row.default, window.default) == (0, True)


def test_an_unset_field_has_the_default_of_its_type() -> None:
    party = parse_message(TABLE)
    host, guests, token, gift = party.root.fields
    assert (host.default, guests.default, token.default, gift.default) == ("", (), bytes(16), None)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ("X versions 0 flexible none\n\nA 0+ int32 colour", "cannot read 'colour'"),
        ("X versions 0 flexible none\n\nA 0+ int32\n  B 0+ int32", "no struct"),
        ("X versions 0 flexible none\n\nA 0+ []Missing", "no struct Missing"),
        ("X versions 0 flexible none\n\nA 0+ []S\n  C 0+ int8\nB 0+ []S\n  C 0+ int8", "described twice"),
        ("X versions zero flexible none\n\nA 0+ int32", "invalid literal"),
    ],
)
def test_a_mistake_in_a_table_is_named(broken: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_message(broken)
