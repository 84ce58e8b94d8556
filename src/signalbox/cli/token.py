"""`signalbox token`: delegation tokens, credentials with which a program logs in as the token's owner."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.table import Table

from signalbox.cli.connect import DEFAULT_BOOTSTRAP, Bootstrap, ask, say, show
from signalbox.client.admin_apis.token_admin import TokenDescription

app = typer.Typer(help="Delegation tokens: create, renew, expire, describe.", no_args_is_help=True)

Hmac = Annotated[
    str,
    typer.Option(envvar="SIGNALBOX_TOKEN_HMAC", prompt=True, hide_input=True, help="Prompted for if not set."),
]
Principals = Annotated[list[str] | None, typer.Option(help="Principal, for example User:alice; can be repeated.")]


@app.command("create")
def create(
    renewer: Principals = None,
    owner: Annotated[
        str | None, typer.Option(help="Owner of the token if it is not the caller; needs CreateTokens on that user.")
    ] = None,
    max_lifetime_ms: Annotated[
        int, typer.Option(help="Maximum lifetime in ms; -1: delegation.token.max.lifetime.ms.")
    ] = -1,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Create a token and print it with its HMAC, which is the password to log in with."""
    token = ask(bootstrap, lambda admin: admin.create_token(renewer or (), owner, max_lifetime_ms))
    say(f"id={token.token_id}")
    say(f"hmac={token.hmac}")
    show(_table([token]))


@app.command("renew")
def renew(
    hmac: Hmac = "",
    period_ms: Annotated[
        int, typer.Option(help="Renewal period in ms from now; -1: delegation.token.expiry.time.ms.")
    ] = -1,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Change a token's expiry time, up to its maximum lifetime."""
    ends_ms = ask(bootstrap, lambda admin: admin.renew_token(hmac, period_ms))
    say(f"the token expires at {_time(ends_ms)}")


@app.command("expire")
def expire(
    hmac: Hmac = "",
    period_ms: Annotated[int, typer.Option(help="Time until expiry in ms from now; -1: expire immediately.")] = -1,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Expire a token; every broker closes the connections that authenticated with it when it expires."""
    ends_ms = ask(bootstrap, lambda admin: admin.expire_token(hmac, period_ms))
    say(f"the token {'expires' if period_ms >= 0 else 'expired'} at {_time(ends_ms)}")


@app.command("describe")
def describe(
    owner: Principals = None,
    show_hmac: Annotated[
        bool, typer.Option(help="Print the HMACs. An HMAC is a password: protect the output.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """List the tokens that the caller owns, may renew or may describe."""
    tokens = ask(bootstrap, lambda admin: admin.describe_tokens(owner or ()))
    show(_table(tokens))
    for token in tokens if show_hmac else ():
        say(f"id={token.token_id} hmac={token.hmac}")


def _table(tokens: list[TokenDescription]) -> Table:
    """The table has no HMACs: they are printed on lines of their own, which no terminal cuts."""
    table = Table("id", "owner", "requester", "renewers", "issued", "expires", "last")
    for token in tokens:
        table.add_row(
            token.token_id,
            token.owner,
            token.requester,
            ",".join(token.renewers),
            *map(_time, (token.issue_ms, token.expiry_ms, token.max_ms)),
        )
    return table


def _time(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError):
        return f"{ms} ms"  # a year outside of Python's calendar
