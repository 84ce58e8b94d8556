"""Which topic names are valid (Kafka's rule), and which collide with an existing one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from signalbox.controller.context import collision_name

MAX_NAME_LENGTH = 249  # with the partition's number and suffixes it must be a valid file name

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def reject_topic_name(name: str) -> str | None:
    """Why a name is invalid, None if it is valid."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > MAX_NAME_LENGTH:
        return f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    if not _LEGAL.fullmatch(name):
        return (
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, '.', "
            "'_' and '-'"
        )
    return None


def colliding_topic(name: str, collision_names: Mapping[str, str]) -> str | None:
    """An existing topic whose name differs from `name` only in '.' and '_'."""
    other = collision_names.get(collision_name(name))
    return other if other is not None and other != name else None
