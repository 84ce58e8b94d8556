from signalbox.protocol.codec_errors import DecodeError, EncodeError


def test_both_say_that_the_input_was_wrong_and_are_told_apart() -> None:
    assert issubclass(DecodeError, ValueError)
    assert issubclass(EncodeError, ValueError)
    assert not issubclass(DecodeError, EncodeError)
    assert not issubclass(EncodeError, DecodeError)
