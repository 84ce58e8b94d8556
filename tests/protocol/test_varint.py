import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.varint import read_uvarint, read_zigzag_varint, uvarint, zigzag_varint


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02"), (16384, "808001"), (2**32 - 1, "ffffffff0f")],
)
def test_unsigned_by_hand(value: int, written: str) -> None:
    assert uvarint(value).hex() == written
    assert read_uvarint(bytes.fromhex("ee" + written), 1) == (value, 1 + len(written) // 2)


@pytest.mark.parametrize(
    ("value", "written"), [(0, "00"), (-1, "01"), (1, "02"), (-2, "03"), (63, "7e"), (64, "8001"), (-65, "8101")]
)
def test_zigzag_by_hand(value: int, written: str) -> None:
    assert zigzag_varint(value).hex() == written
    assert read_zigzag_varint(bytes.fromhex(written), 0) == (value, len(written) // 2)


@given(st.integers(0, 2**32 - 1))
def test_unsigned_there_and_back(value: int) -> None:
    written = uvarint(value)
    assert read_uvarint(memoryview(written), 0) == (value, len(written))


@given(st.integers(-(2**63), 2**63 - 1))
def test_zigzag_there_and_back(value: int) -> None:
    written = zigzag_varint(value)
    assert read_zigzag_varint(written, 0) == (value, len(written))


@pytest.mark.parametrize("hex_text", ["", "80", "8080", "ffffffff"])
def test_an_end_in_the_middle_is_rejected(hex_text: str) -> None:
    for read in (read_uvarint, read_zigzag_varint):
        with pytest.raises(DecodeError, match="ends inside"):
            read(bytes.fromhex(hex_text), 0)


def test_too_long_is_rejected() -> None:
    with pytest.raises(DecodeError, match="more than 32 bits"):
        read_uvarint(b"\xff\xff\xff\xff\x1f", 0)
    with pytest.raises(DecodeError, match="more than 32 bits"):
        read_uvarint(b"\x80\x80\x80\x80\x80\x01", 0)
    with pytest.raises(DecodeError, match="more than 64 bits"):
        read_zigzag_varint(b"\xff" * 11, 0)
