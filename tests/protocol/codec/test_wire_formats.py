import pytest

from signalbox.protocol.codec.wire_formats import (
    ArrayReader,
    ShapePacker,
    check_count,
    long_length,
    long_string_length,
    read_unknown_tags,
    tagged_section,
)
from signalbox.protocol.codec_errors import DecodeError, EncodeError


def test_a_shape_packs_fixed_fields_strings_and_numbers_in_one_go() -> None:
    packer = ShapePacker(("h", ("B", "s"), ("i", "i"), "x"))
    assert packer[3, 2](7, 3, b"ab", 2, 8, 9) == b"\0\7\3ab" + bytes.fromhex("00000002 00000008 00000009") + b"\0"
    assert packer[0, -1](7, 0, b"", -1) == b"\0\7\0\xff\xff\xff\xff\0"


def test_a_compact_length_over_127_takes_more_bytes() -> None:
    packer = ShapePacker(("b", ("B", "s"), ("B", "h")))
    packed = packer[201, 131](5, 201, b"x" * 200, 131, *[1] * 130)
    assert packed == b"\5\xc9\1" + b"x" * 200 + b"\x83\1" + b"\0\1" * 130


def test_a_string_over_the_limit_is_rejected() -> None:
    with pytest.raises(EncodeError):
        ShapePacker((("B", "s"),))[40001](40001, b"x" * 40000)


def test_shapes_are_forgotten_before_they_pile_up() -> None:
    packer = ShapePacker((("B", "s"),))
    for size in range(2000):
        packer[size + 1](size + 1, b"z" * size)
    assert len(packer) <= 512


def test_numbers_are_read_with_the_following_fields() -> None:
    reader = ArrayReader("i", "hB", 1)
    assert reader[3](bytes.fromhex("00000001 00000002 0003 04"), 0) == (1, 2, 3, 4)
    with pytest.raises(DecodeError, match="null"):
        reader[0]
    with pytest.raises(DecodeError, match="allowed"):
        reader[2_000_000]


def test_array_readers_do_not_pile_up() -> None:
    reader = ArrayReader("i", "", 0)
    for count in range(3000):
        assert callable(reader[count])
    assert len(reader) <= 512


def test_long_lengths_are_checked_against_the_buffer() -> None:
    buffer = b"\x82\x01" + bytes(129)
    assert long_length(buffer, 0) == (130, 2)
    with pytest.raises(DecodeError):
        long_length(buffer[:-1], 0)
    with pytest.raises(DecodeError, match="32767"):
        long_string_length(b"\x81\x80\x02" + bytes(40000), 0)


def test_counts_are_checked_against_the_buffer_and_the_cap() -> None:
    check_count(3, 4, bytes(12), 0)
    with pytest.raises(DecodeError, match="are left"):
        check_count(3, 4, bytes(12), 1)
    with pytest.raises(DecodeError, match="1000000 are allowed"):
        check_count(1_000_001, 1, bytes(1_000_001), 0)


class Holder:
    unknown_tags: dict[int, bytes] | None = None


def test_tagged_sections_there_and_back() -> None:
    written = tagged_section({3: b"c"}, {1: b"a", 200: b"zz"})
    assert written == b"\3\1\1a\3\1c\xc8\1\2zz"
    holder = Holder()
    assert read_unknown_tags(written, 0, holder) == len(written)
    assert holder.unknown_tags == {1: b"a", 3: b"c", 200: b"zz"}
    assert tagged_section({}, None) == b"\0"


def test_an_unknown_tag_may_not_have_the_number_of_a_known_one() -> None:
    with pytest.raises(EncodeError):
        tagged_section({3: b"c"}, {3: b"x"})


@pytest.mark.parametrize("section", [b"\2\1\1a", b"\1\1\5a", b"\xff\xff\xff\xff\x0f", b"\1"])
def test_broken_tagged_sections_are_rejected(section: bytes) -> None:
    with pytest.raises(DecodeError):
        read_unknown_tags(section, 0, Holder())
