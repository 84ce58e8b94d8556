import pytest

from signalbox.protocol.codec.functions import Codec
from signalbox.protocol.codec_errors import DecodeError, EncodeError
from signalbox.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from signalbox.protocol.messages.produce import ProduceRequest


@pytest.mark.parametrize("version", [-1, 3, 19, 32767])
def test_versions_that_do_not_exist_are_rejected_when_decoding_and_encoding(version: int) -> None:
    with pytest.raises(DecodeError, match="4-18 exist"):
        FetchRequest.decode(bytes(40), version)
    with pytest.raises(EncodeError, match="4-18 exist"):
        FetchRequest().encode(version)
    with pytest.raises(EncodeError):
        FetchRequest().encode_chunks(version)


def test_remaining_bytes_are_rejected_unless_a_prefix_is_decoded() -> None:
    frame = HeartbeatResponse(throttle_time_ms=5, error_code=27).encode(4)
    with pytest.raises(DecodeError, match="2 bytes left over"):
        HeartbeatResponse.decode(frame + b"xy", 4)
    message, end = HeartbeatResponse.decode_prefix(b"--" + frame + b"xy", 4, 2)
    assert (message.error_code, end) == (27, 2 + len(frame))


def test_a_prefix_may_not_be_cut_short() -> None:
    frame = HeartbeatResponse().encode(4)
    with pytest.raises(DecodeError):
        HeartbeatResponse.decode_prefix(frame[:-1], 4)


def test_a_newer_subscription_is_read_as_the_newest_known() -> None:
    """A consumer of a later release appends fields; older readers skip them."""
    frame = ConsumerProtocolSubscription(topics=["t"], generation_id=3, rack_id="r").encode(3) + b"from the future"
    message, _ = ConsumerProtocolSubscription.decode_prefix(frame, 3)
    assert (message.topics, message.generation_id, message.rack_id) == (["t"], 3, "r")


def test_an_encode_error_names_field_and_version() -> None:
    request = HeartbeatRequest(group_id="g", member_id="m", group_instance_id="static")
    with pytest.raises(EncodeError, match=r"version 2: HeartbeatRequest\.GroupInstanceId = 'static'"):
        request.encode(2)
    assert HeartbeatRequest.decode(request.encode(3), 3) == request


def test_an_encode_error_names_the_element_inside_arrays() -> None:
    topic = ProduceRequest.TopicProduceData(
        name="t", partition_data=[ProduceRequest.PartitionProduceData(index=1 << 40)]
    )
    with pytest.raises(EncodeError, match=r"TopicData\[0\]\.PartitionData\[0\]\.Index"):
        ProduceRequest(topic_data=[topic]).encode(9)


def test_a_field_of_the_wrong_type_is_an_encode_error() -> None:
    with pytest.raises(EncodeError):
        HeartbeatRequest(group_id=7).encode(3)  # type: ignore[arg-type]
    with pytest.raises(EncodeError):
        FetchRequest(topics=["t"]).encode(12)  # type: ignore[list-item]


def test_ignorable_fields_are_dropped_where_the_version_lacks_them() -> None:
    request = FetchRequest(rack_id="r1", session_id=9)
    read = FetchRequest.decode(request.encode(4), 4)
    assert (read.rack_id, read.session_id) == ("", 0)


def test_equal_versions_share_one_function() -> None:
    codec = Codec(FetchRequest.schema, FetchRequest.codec.classes)
    for version in range(4, 19):
        codec.decode(FetchRequest().encode(version), version)
    functions = {id(codec._decoders[version]) for version in range(4, 19)}
    assert len(functions) == 10  # versions 5-6, 7-8, 9-10, 13-14 and 15-16 differ in behavior only
