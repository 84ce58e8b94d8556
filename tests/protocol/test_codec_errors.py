from signalbox.protocol.codec_errors import DecodeError, EncodeError


def test_both_errors_are_value_errors_of_different_types() -> None:
    assert issubclass(DecodeError, ValueError)
    assert issubclass(EncodeError, ValueError)
    assert not issubclass(DecodeError, EncodeError)
    assert not issubclass(EncodeError, DecodeError)
