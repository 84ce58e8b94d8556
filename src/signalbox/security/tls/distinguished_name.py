"""The subject of a certificate as text, exactly as Java's X500Principal.getName() prints it: Kafka uses it as the
principal, and ACLs and mapping rules are written for it.

RFC 2253: the most specific part first, nine attributes by their keyword. Any other attribute is its object identifier
with the hexadecimal of its value's encoding (an e-mail address is 1.2.840.113549.1.9.1=#1606...). So the encoding is
read here, because `ssl` does not return it. OpenSSL has verified the certificate before.
"""

from __future__ import annotations

from collections.abc import Iterator

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
# The tags that Java reads as text: UTF8String, PrintableString, T61String, IA5String, GeneralString, BMPString; it
# reads all of them as UTF-8.
_TEXT = frozenset({12, 19, 20, 22, 27, 30})
_ESCAPED = frozenset(',=+<>#;"\\')
_CONTEXT_0 = 0xA0
_SUBJECT = 5  # after version, serial number, algorithm, issuer and validity


def distinguished_name(certificate: bytes) -> str:
    """The subject of a certificate in DER; "" for an empty one. ValueError when it is not a certificate."""
    parts = ["+".join(map(_attribute, _elements(part))) for _, part in _values(_subject(certificate))]
    return ",".join(reversed(parts))


def _subject(certificate: bytes) -> bytes:
    fields = list(_values(_first(_first(certificate))))
    if fields and fields[0][0] != _CONTEXT_0:  # certificates of version 1 have no version field
        fields.insert(0, (_CONTEXT_0, b""))
    if len(fields) <= _SUBJECT:
        raise ValueError("no certificate: it ends before its subject")
    return fields[_SUBJECT][1]


def _attribute(pair: bytes) -> str:
    (_, identifier), (tag, value) = _values(pair)
    name = _dotted(identifier)
    keyword = _KEYWORDS.get(name)
    if keyword is None or tag not in _TEXT:
        value = pair[_header_size(pair) + len(identifier) :]
        return f"{keyword or name}=#{value.hex()}"
    return f"{keyword}={_escape(value.decode(errors='replace'))}"


def _escape(text: str) -> str:
    core = text.strip(" \r")
    start = len(text) - len(text.lstrip(" \r"))
    escaped = "".join("\\" + char if char in _ESCAPED else char for char in core).replace("\0", "\\00")
    before, after = text[:start], text[start + len(core) :]
    return "".join("\\" + char for char in before) + escaped + "".join("\\" + char for char in after)


def _dotted(identifier: bytes) -> str:
    """An object identifier's numbers: seven bits per byte, the first two numbers in one."""
    numbers, number = [], 0
    for byte in identifier:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))


def _first(data: bytes) -> bytes:
    for content in _elements(data):
        return content
    raise ValueError("no certificate: it is empty")


def _elements(data: bytes) -> Iterator[bytes]:
    """The contents of the consecutive values in `data`."""
    return (content for _, content in _values(data))


def _values(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(tag, content) of each value."""
    start = 0
    while start < len(data):
        head = _header_size(data[start:])
        length = data[start + 1] if head == 2 else int.from_bytes(data[start + 2 : start + head])
        end = start + head + length
        if end > len(data):
            raise ValueError("no certificate: a value is longer than what holds it")
        yield data[start], data[start + head : end]
        start = end


def _header_size(data: bytes) -> int:
    """The number of bytes of tag and length."""
    if len(data) < 2:
        raise ValueError("no certificate: it ends in the middle of a value")
    return 2 if data[1] < 0x80 else 2 + (data[1] & 0x7F)
