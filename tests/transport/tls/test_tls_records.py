from __future__ import annotations

import pytest

from signalbox.transport.tls.tls_records import NotTls, TlsRecords, is_tls, protocol_name

HELLO = bytes.fromhex("1603010004") + b"\x01\x00\x00\x00"
CHANGE = bytes.fromhex("140303000101")


def test_only_complete_records_are_returned() -> None:
    records = TlsRecords()
    records.add(HELLO + CHANGE + HELLO[:7])
    assert records.take() == HELLO + CHANGE
    assert records.take() == b""
    records.add(HELLO[7:])
    assert records.take() == HELLO
    records.add(HELLO[:3])
    assert records.take() == b""
    assert records.take_all() == HELLO[:3]


@pytest.mark.spec("L7")
@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"\0\0\0\x40\0\x12\0\x04", "a plaintext Kafka request (ApiVersions)"),
        (b"\0\0\0\x40\0\x03\0\x0c", "a plaintext Kafka request (Metadata)"),
        (b"GET / HT", "HTTP"),
        (b"PRI * HT", "HTTP/2"),
        (b"PROXY TC", "the PROXY protocol"),
        (b"SSH-2.0-", "SSH"),
        (b"\0\0\0\x40\x7f\x12\0\x04", "bytes that are not TLS (00 00 00 40 7f 12 00 04)"),
        (b"\x80\x2e\x01\x03\x01", "bytes that are not TLS (80 2e 01 03 01)"),
    ],
)
def test_the_protocol_of_other_bytes_is_named(head: bytes, name: str) -> None:
    assert protocol_name(head) == name
    records = TlsRecords()
    records.add(head)
    with pytest.raises(NotTls) as raised:
        records.take()
    assert str(raised.value) == f"the peer sent {name} where TLS is expected"


@pytest.mark.parametrize("record", ["1703034801", "1602010004", "1503030003000000ff03030001"])
def test_invalid_records_are_rejected(record: str) -> None:
    records = TlsRecords()
    records.add(bytes.fromhex(record))
    with pytest.raises(NotTls):
        records.take()


def test_no_handshake_is_that_long() -> None:
    records = TlsRecords()
    for _ in range(1_048_576 // len(HELLO)):
        records.add(HELLO)
        assert records.take() == HELLO
    records.add(HELLO)
    with pytest.raises(ValueError, match="more than 1048576 bytes"):
        records.take()


def test_a_size_that_is_tls() -> None:
    assert is_tls(int.from_bytes(b"\x16\x03\x01\x02"))
    assert is_tls(int.from_bytes(b"\x15\x03\x03\0"))
    assert not is_tls(int.from_bytes(b"\x16\x04\x01\x02"))
    assert not is_tls(100)
    assert not is_tls(-1)
