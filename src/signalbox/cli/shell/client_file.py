"""The file of `--command-config`: the properties of a client, each with its line.

Kafka's tools share such a file, and it may have keys that Signalbox does not read: these are ignored. A key that is
close to a known one is likely a typing mistake, and its setting would be missing in silence: a warning names the line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

from signalbox.common.config.properties_file import Properties, parse_properties

_CLOSE = 0.9  # `ssl.keystore.key` is no typing mistake for `ssl.keystore.type`
_warned: set[tuple[str, str]] = set()


def read_client_file(location: str) -> Properties:
    """The properties of the file, of whose content a command warns once; an unreadable file ends the command."""
    properties, text = _parsed(location)
    if (location, text) not in _warned:
        _warned.add((location, text))
        for warning in warnings_of(properties):
            typer.secho(f"warning: {warning}", fg="yellow", err=True)
    return properties


def _parsed(location: str) -> tuple[Properties, str]:
    from signalbox.cli.connect import fail

    try:
        text = Path(location).read_text(encoding="utf-8-sig")
        return parse_properties(text, location), text
    except OSError as error:
        fail(f"{location} cannot be read: {error.strerror or error}", code=2)
    except ValueError as error:
        fail(f"{location} cannot be read: {error}", code=2)


def warnings_of(properties: Properties) -> Iterator[str]:
    """A line for each key that is likely a typing mistake."""
    from signalbox.client.config_rows import CLIENT_CONFIG

    unknown = [key for key in properties.values if key not in CLIENT_CONFIG]
    if not unknown:
        return
    from difflib import get_close_matches

    from signalbox.client.application_rows import CONSUMER_CONFIG, PRODUCER_CONFIG

    names = [row.name for table in (CLIENT_CONFIG, CONSUMER_CONFIG, PRODUCER_CONFIG) for row in table]
    for key in unknown:
        if key not in names and (close := get_close_matches(key[:100], names, 1, _CLOSE)):
            yield f"{properties.where(key)}: {key} is not a known key (did you mean {close[0]}?)"
