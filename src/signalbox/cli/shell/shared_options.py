"""The options of every command. They may stand before or after a sub-command; the last one counts.

`add_shared_options` puts them on a command and on all commands below it. A command that declares an option of the same
name keeps its own. The values are read with `shared()`: a command has no parameters for them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.main

if TYPE_CHECKING:
    from signalbox.cli.shell.profiles import Profile

BOOTSTRAP = "SIGNALBOX_BOOTSTRAP"
COMMAND_CONFIG = "SIGNALBOX_COMMAND_CONFIG"
DEFAULT_BOOTSTRAP = "127.0.0.1:19092"

CLIENT = ("bootstrap_server", "command_config", "profile", "as_json", "version")
OUTPUT = ("as_json", "version")
LOCAL = ("version",)


@dataclass(slots=True)
class SharedOptions:
    """The values of one command line."""

    bootstrap_server: str | None = None
    command_config: str | None = None
    as_json: bool = False
    profile: str | None = None

    @property
    def bootstrap(self) -> str:
        """`host:port,...`: the option, else that of the profile, else the environment, else the address of `signalbox
        up`."""
        if self.bootstrap_server is not None:
            return self.bootstrap_server
        profile = self.used_profile()
        return profile.bootstrap if profile else os.environ.get(BOOTSTRAP, DEFAULT_BOOTSTRAP)

    @property
    def config_file(self) -> str | None:
        """The file of client properties: the option, else that of the profile, else the environment."""
        if self.command_config is not None:
            return self.command_config
        profile = self.used_profile()
        return profile.command_config if profile else os.environ.get(COMMAND_CONFIG)

    def used_profile(self) -> Profile | None:
        """The profile that the command line names. Else the default one, but only if neither the command line nor the
        environment names an address or a file: the login of one cluster must not go to another. A wrong profile, or an
        environment that names a profile beside an address or a file, ends the command."""
        from signalbox.cli.shell.profiles import PROFILE, ProfileError, default_profile, profile_of

        try:
            if self.profile is not None:
                return profile_of(self.profile)
            if self.bootstrap_server is not None or self.command_config is not None:
                return None
            named = [name for name in (BOOTSTRAP, COMMAND_CONFIG) if os.environ.get(name) is not None]
            if named and os.environ.get(PROFILE):
                raise ProfileError(f"{PROFILE} and {named[0]} both name a cluster: unset one of them")
            return None if named else default_profile()
        except ProfileError as error:
            from signalbox.cli.connect import fail

            fail(str(error), code=2)


def shared() -> SharedOptions:
    """The shared options of the command that runs; defaults outside of any command."""
    try:
        context = typer.main.get_current_context()  # type: ignore[attr-defined]
    except RuntimeError:
        return SharedOptions()
    options: SharedOptions = context.ensure_object(SharedOptions)
    return options


def reject_unshared(command: str, shares: Iterable[str]) -> None:
    """End the command line if it has a shared option that the command does not have: it would have no effect."""
    options, names = shared(), {*shares}
    for option in _OPTIONS.values():
        if option.name not in names and getattr(options, option.name, None):
            from signalbox.cli.connect import fail

            fail(f"`{command}` has no option {option.opts[0]}", code=2)


def _keep(context: typer.Context, parameter: typer.CallbackParam, value: Any) -> Any:
    options = context.ensure_object(SharedOptions)
    if value is not None and value is not False:
        setattr(options, str(parameter.name), value)
    return value


def _print_version(value: bool) -> None:
    if value:
        from signalbox import __version__

        typer.echo(f"signalbox {__version__}")
        raise typer.Exit


def _declared(
    bootstrap_server: Annotated[
        str | None,
        typer.Option(
            "--bootstrap-server",
            "-b",
            metavar="HOST:PORT,...",
            callback=_keep,
            expose_value=False,
            help=f"Address of any broker [environment: {BOOTSTRAP}; default: {DEFAULT_BOOTSTRAP}].",
        ),
    ] = None,
    command_config: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            callback=_keep,
            expose_value=False,
            help=f"Client properties: security.protocol, sasl.*, ssl.* [environment: {COMMAND_CONFIG}].",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            callback=_keep,
            expose_value=False,
            help="A cluster of profiles.toml: address and client properties [environment: SIGNALBOX_PROFILE].",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", callback=_keep, expose_value=False, help="Print the result as JSON.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, expose_value=False, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """The declaration of the options: its parameters are put on other commands."""


def _from_declaration() -> list[Any]:
    declaration = typer.Typer(add_completion=False, rich_markup_mode=None)
    declaration.command()(_declared)
    return list(typer.main.get_command(declaration).params)


_OPTIONS = {option.name: option for option in _from_declaration()}


def declared_options() -> list[Any]:
    """All shared options, in the order of the help."""
    return list(_OPTIONS.values())


def add_shared_options(command: Any, names: Iterable[str]) -> None:
    """Add these options to a command and, if it is a group, to every command below it."""
    names = tuple(names)
    taken = {text for parameter in command.params for text in parameter.opts}
    command.params += [_OPTIONS[name] for name in names if taken.isdisjoint(_OPTIONS[name].opts)]
    for inner in getattr(command, "commands", {}).values():
        add_shared_options(inner, names)
