"""Errors of decoding and encoding.

Both are `ValueError`s: the input was wrong, not the program. After a `DecodeError` in a peer's frame that one
connection is closed; an `EncodeError` is a fault of the code that built the message, and names the field and the
version that cannot contain it.
"""

from __future__ import annotations


class DecodeError(ValueError):
    """The bytes are not a valid message of this version."""


class EncodeError(ValueError):
    """The message cannot be written in this version."""


class ValueDoesNotFit(EncodeError):
    """No version can contain the value: a number out of range, text that is not Unicode."""


class StringTooLong(EncodeError):
    """A string has more than 32,767 bytes. That is no fault of the code: a peer's string may become longer than it was
    on the wire (`lenient_utf8.py`)."""
