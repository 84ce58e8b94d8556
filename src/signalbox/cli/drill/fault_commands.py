"""The commands of faults, built from the faults' own fields: what a fault needs is an argument, the rest are options.

A value goes to the cluster as text. There it is checked, as it is for programs that give faults as text, so that every
way to apply a fault has the same errors.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from signalbox.protocol.api_table import API_TABLE
from signalbox.protocol.error_table import Error
from signalbox.testing.faults import FAULTS

_FIELD_HELP = {
    "api": "Name of the API in Kafka: Produce, Fetch, FindCoordinator.",
    "client_id": "Only requests of this client id.",
    "delay_ms": "Milliseconds by which it is late.",
    "error": "Name of the error in Kafka: NOT_LEADER_OR_FOLLOWER.",
    "first": "Number of the first request that is concerned, counted from 1.",
    "listener": "Only this listener of clients (`up --drill --listener`).",
    "node": "Id of the broker.",
    "one": "Id of a broker.",
    "other": "Id of another broker.",
    "over": "Ids of brokers, as 1,2,3.",
    "size_bytes": "Bytes after which a connection is cut.",
    "times": "How many requests are concerned; all: all of them (default: 1).",
    "to": "Id of a broker.",
    "cut": "Leave open connections as they are, as after a change in DNS.",
    "once": "Only the connections that are open now.",
    "of_responses": "Count the bytes of requests, not of responses.",
    "is_node": "Id of the node that answers there.",
    "cluster_id": "Id of the other cluster.",
    "version": "The highest version of ApiVersions: 3 or 4.",
    "nodes": "Ids of the brokers whose responses are changed, as 1,2.",
    "hidden": "Ids of brokers that the responses leave out, as 3.",
    "topic": "Only requests that name this topic.",
    "partition": "Number of the partition.",
    "group": "Id of the group.",
    "transactional_id": "The transactional id of the producer.",
    "throttle_ms": "Milliseconds that the client is to wait.",
    "highest": "The highest version; -1: the API is not known.",
    "lowest": "The lowest version (default: 0).",
    "addresses": 'Addresses in place of the advertised ones: \'{"1": ["host", 9092]}\'.',
}

_ONE_ADDRESS = ("bootstrap",)  # the advertised addresses of `up` are for bootstrap.servers, too

Run = Callable[[Path | None, str, dict[str, str]], None]


@dataclass(frozen=True, slots=True)
class FaultCommand:
    """`fault` is a name in FAULTS; `help` can have an example, as docstrings of commands have."""

    name: str
    fault: str
    help: str
    arguments: tuple[str, ...] = ()
    """Fields with a default that are arguments all the same."""
    own_help: tuple[tuple[str, str], ...] = ()
    """What a field means here, in place of its common help."""


def command_of(row: FaultCommand, run: Run) -> Callable[..., None]:
    """The function of a command, for typer; `run` gets the folder, the fault's name and the values that are given."""
    kind = FAULTS[row.fault]
    hints = get_type_hints(kind)
    wanted = [each for each in fields(kind) if each.name not in _ONE_ADDRESS]
    helps = _FIELD_HELP | dict(row.own_help)
    parameters = [_parameter(each, hints[each.name], helps[each.name], row.arguments) for each in wanted]

    def execute(data: Path | None = None, **values: Any) -> None:
        given = {name: value for name, value in values.items() if value is not None}
        run(data, row.fault, {_FIELDS.get(name, name): _text(value) for name, value in given.items()})

    annotations = {**dict(parameters), "data": DATA}
    execute.__doc__ = row.help
    execute.__annotations__ = annotations
    required = {_NAMES.get(each.name, each.name) for each in wanted if _is_required(each)}
    signature = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if name in required else None,
            annotation=annotation,
        )
        for name, annotation in annotations.items()
    ]
    execute.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    return execute


DATA = Annotated[
    Path | None, typer.Option("--data", metavar="FOLDER", help="The folder of `up --drill` (default: that of `up`).")
]


def _parameter(each: Field[Any], hint: Any, text: str, arguments: Sequence[str]) -> tuple[str, Any]:
    """The name of a field's parameter, and its annotation for typer."""
    name = _NAMES.get(each.name, each.name)
    if _is_required(each):
        return name, Annotated[str, typer.Argument(help=text, autocompletion=_WORDS.get(each.name))]
    if each.name in arguments:
        return name, Annotated[str | None, typer.Argument(help=text)]
    option = "--" + name.replace("_", "-")
    if hint is bool:
        flag = option if each.default is False else _OPPOSITES[each.name]
        return name, Annotated[bool | None, typer.Option(flag, help=text, callback=_flag(each.default))]
    return name, Annotated[str | None, typer.Option(option, metavar=_placeholder(each.name), help=text)]


_WORDS: dict[str, Callable[[], list[str]]] = {
    "api": lambda: [row.name for row in API_TABLE.values()],
    "error": lambda: list(Error.__members__),
}
_NAMES = {"version": "limit"}  # every command has an option --version
_FIELDS = {name: field for field, name in _NAMES.items()}
_OPPOSITES = {"cut": "--keep-connections", "of_responses": "--of-requests"}


def _flag(default: Any) -> Callable[[bool | None], bool | None]:
    """A flag stands for the opposite of the field's default."""
    return lambda given: (not default) if given else None


def _placeholder(name: str) -> str:
    numbers = {"first": "N", "times": "N", "node": "NODE", "to": "NODE"}
    return numbers.get(name, "TEXT")


def _is_required(each: Field[Any]) -> bool:
    return each.default is MISSING and each.default_factory is MISSING


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
