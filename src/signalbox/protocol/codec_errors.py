"""What goes wrong between bytes and messages.

Both errors are `ValueError`s: the input was wrong, not the program. A `DecodeError` from a peer's frame is
answered by closing that one connection; an `EncodeError` is a fault of whoever built the message and names
the field and the version that cannot carry it.
"""

from __future__ import annotations


class DecodeError(ValueError):
    """The bytes are not this message at this version."""


class EncodeError(ValueError):
    """The message cannot be written at this version."""
