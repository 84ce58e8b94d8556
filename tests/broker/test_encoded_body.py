"""A response that is already encoded decodes to its message; it can be sent several times."""

from __future__ import annotations

from signalbox.broker.encoded_body import EncodedBody
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.metadata import MetadataResponse

VERSION = 12


def test_the_same_bytes_for_everybody() -> None:
    message = MetadataResponse(brokers=[], cluster_id="c", controller_id=3, topics=[])
    body = EncodedBody(message.encode_chunks(VERSION))
    first, second = (b"".join(body.encode_chunks(VERSION)) for _ in range(2))
    assert first == second == b"".join(message.encode_chunks(VERSION))
    assert MetadataResponse.decode(first, VERSION).controller_id == 3


def test_the_error_code_of_an_encoded_body() -> None:
    assert EncodedBody([b""]).error_code == Error.NONE
    assert EncodedBody([b""], Error.INVALID_REQUEST).error_code == Error.INVALID_REQUEST
