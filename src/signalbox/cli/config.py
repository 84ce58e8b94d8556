"""`signalbox config`: describes and changes the configs of topics and brokers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated

import typer

from signalbox.cli.connect import ask_with, fail, pairs, report, show
from signalbox.cli.shell.listing import Listing
from signalbox.client.admin_apis.config_admin import ConfigAdmin, ConfigChange, ConfigResource
from signalbox.common.visible_text import one_line
from signalbox.protocol.config_resource import AlterConfigOp, ConfigResourceType

app = typer.Typer(help="Configs of topics and brokers: describe, set.", no_args_is_help=True)

_SOURCES = {1: "topic", 2: "this broker", 3: "all brokers", 4: "server.properties", 5: "default"}
_CONNECTION_LIMITS = ("max.connections.per.ip", "max.connections.per.ip.overrides")
Resource = Annotated[str, typer.Argument(help="topic:NAME, broker:ID, or broker: for the defaults of all brokers.")]


@app.command("describe")
def describe(
    resource: Resource, all_values: Annotated[bool, typer.Option("--all", help="Include default values.")] = False
) -> None:
    """Describe configs with the source of each value."""
    description = ask_with(ConfigAdmin, lambda admin: admin.describe_configs(_resource(resource)))
    table = Listing("config", "value", "set by", "changeable", title=resource)
    for name, entry in sorted(description.items()):
        if all_values or not entry.is_default:
            value = "(hidden)" if entry.sensitive else entry.value
            table.add(name, value, _SOURCES.get(entry.source, str(entry.source)), not entry.read_only)
    show(table)


@app.command("set")
def set_configs(
    resource: Resource,
    values: Annotated[list[str], typer.Argument(help="key=value, or key= to delete the override.")],
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Apply the change even if it closes open connections.")
    ] = False,
) -> None:
    """Alter configs. All changes of one command are applied atomically."""
    changes = [
        ConfigChange(key, value or None, AlterConfigOp.SET if value else AlterConfigOp.DELETE)
        for key, value in pairs(values, "VALUES").items()
    ]
    target = _resource(resource)
    if (
        not yes
        and target.type is ConfigResourceType.BROKER
        and any(change.name in _CONNECTION_LIMITS for change in changes)
    ):
        warnings = ask_with(ConfigAdmin, lambda admin: admin.cut_off(target, changes))
        if warnings:
            remedy = "Nothing was changed. Repeat the command with --yes to apply the change."
            fail("\n".join([*map(one_line, warnings), remedy]))
    results = ask_with(ConfigAdmin, lambda admin: admin.alter_configs({target: changes}))
    # A result for the defaults of all brokers has an empty name.
    report({name: replace(result, name=result.name or "all brokers") for name, result in results.items()}, "changed")
    if target.type is ConfigResourceType.BROKER:
        _warn_of_misspelt(change.name for change in changes if change.op is AlterConfigOp.SET)


def _warn_of_misspelt(keys: Iterable[str]) -> None:
    """Brokers store a key that they do not know, as Apache Kafka's do."""
    # The table of all keys is a large import, which the other commands do without.
    from signalbox.configuration.check.config_warnings import misspelt_key
    from signalbox.configuration.configuration import NODE_CONFIG

    for key in keys:
        if warning := misspelt_key(key, NODE_CONFIG):
            typer.echo(f"warning: {warning}", err=True)


def _resource(text: str) -> ConfigResource:
    kind, colon, name = text.partition(":")
    types = {"topic": ConfigResourceType.TOPIC, "broker": ConfigResourceType.BROKER}
    if not colon or kind not in types:
        fail(f"{text!r} is not a resource: expected topic:NAME, broker:ID or broker:", code=2)
    return ConfigResource(types[kind], name)
