"""Reads a properties file from the disk. A folder, another encoding or an endless file is rejected with an
explanation."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from pathlib import Path

from signalbox.common.config.properties_file import Properties, parse_properties
from signalbox.common.small_file import read_small_file

_OVERRIDE = "--override"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class ConfigFileError(ValueError):
    """The file cannot be read as a configuration; the message names the file and the remedy."""


def read_config_file(path: Path, overrides: Iterable[str] = ()) -> Properties:
    """Returns the file's keys, with the `key=value` overrides applied. Raises ConfigFileError."""
    try:
        data = read_small_file(path)
    except OSError as error:
        raise ConfigFileError(f"{path} cannot be read: {error.strerror}") from error
    properties = _parsed(_text(data, path), str(path))
    for text in overrides:
        try:
            properties.override(text, _OVERRIDE)
        except ValueError as error:
            raise ConfigFileError(f"{path} cannot be read: {error}") from error
    return properties


def _parsed(text: str, origin: str) -> Properties:
    try:
        return parse_properties(text, origin)
    except ValueError as error:
        raise ConfigFileError(f"{origin} cannot be read: {error}") from error


def _text(data: bytes, path: Path) -> str:
    if data.startswith(_UTF_16):
        raise ConfigFileError(f"{path} cannot be read: it is UTF-16; save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        where = f"line {line} holds the byte 0x{data[error.start]:02x}"
        raise ConfigFileError(
            f"{path} cannot be read: {where}, which is not UTF-8. Save the file as UTF-8, or write \\uXXXX"
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ConfigFileError(f"{path} cannot be read: line {line} holds a NUL; this is no text file")
    return text
