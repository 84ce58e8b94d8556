"""`signalbox user`: the users of SCRAM logins."""

from __future__ import annotations

from typing import Annotated

import typer

from signalbox.cli.connect import ask_with, show, tell
from signalbox.cli.shell.listing import Listing
from signalbox.client.admin_apis.user_admin import UserAdmin

app = typer.Typer(help="SCRAM users: list, set, delete.", no_args_is_help=True)

Mechanism = Annotated[str, typer.Option(help="SCRAM-SHA-256 or SCRAM-SHA-512.")]
_DEFAULT_MECHANISM = "SCRAM-SHA-256"


@app.command("list")
def list_users(
    names: Annotated[list[str] | None, typer.Argument(help="User names (default: all users).")] = None,
) -> None:
    """List SCRAM users with their mechanisms and iterations."""
    table = Listing("user", "mechanism", "iterations")
    for user, mechanisms in ask_with(UserAdmin, lambda admin: admin.describe_users(names or ())).items():
        for mechanism, iterations in mechanisms.items():
            table.add(user, mechanism, iterations)
    show(table)


@app.command("set")
def set_user(
    name: str,
    mechanism: Mechanism = _DEFAULT_MECHANISM,
    iterations: Annotated[int, typer.Option(help="4096 to 16384.")] = 4096,
    password: Annotated[
        str, typer.Option(envvar="SIGNALBOX_PASSWORD", prompt=True, hide_input=True, help="Prompted for if not set.")
    ] = "",
) -> None:
    """Create a SCRAM credential or change its password. Open connections stay authenticated."""
    ask_with(UserAdmin, lambda admin: admin.set_user(name, password, mechanism, iterations))
    tell({"user": name, "mechanism": mechanism}, f"{name}: {mechanism} set")


@app.command("delete")
def delete(name: str, mechanism: Mechanism = _DEFAULT_MECHANISM) -> None:
    """Delete a SCRAM credential. Open connections stay authenticated."""
    ask_with(UserAdmin, lambda admin: admin.delete_user(name, mechanism))
    tell({"user": name, "mechanism": mechanism}, f"{name}: {mechanism} deleted")
