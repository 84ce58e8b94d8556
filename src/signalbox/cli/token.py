"""`signalbox token`: delegation tokens, credentials with which a program logs in as the token's owner."""

from __future__ import annotations

from typing import Annotated

import typer

from signalbox.cli.connect import ask_with, say, show, tell
from signalbox.cli.shell.instants import instant_text
from signalbox.cli.shell.listing import Listing
from signalbox.cli.shell.shared_options import shared
from signalbox.client.admin_apis.token_admin import TokenAdmin, TokenDescription

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
) -> None:
    """Create a token and print it with its HMAC, which is the password to log in with."""
    token = ask_with(TokenAdmin, lambda admin: admin.create_token(renewer or (), owner, max_lifetime_ms))
    if shared().as_json:
        tell({**_table([token]).as_json()[0], "hmac": token.hmac}, "")
        return
    say(f"id={token.token_id}")
    say(f"hmac={token.hmac}")
    show(_table([token]))


@app.command("renew")
def renew(
    hmac: Hmac = "",
    period_ms: Annotated[
        int, typer.Option(help="Renewal period in ms from now; -1: delegation.token.expiry.time.ms.")
    ] = -1,
) -> None:
    """Change a token's expiry time, up to its maximum lifetime."""
    ends_ms = ask_with(TokenAdmin, lambda admin: admin.renew_token(hmac, period_ms))
    tell({"expiry_ms": ends_ms}, f"the token expires at {instant_text(ends_ms)}")


@app.command("expire")
def expire(
    hmac: Hmac = "",
    period_ms: Annotated[int, typer.Option(help="Time until expiry in ms from now; -1: expire immediately.")] = -1,
) -> None:
    """Expire a token; every broker closes the connections that authenticated with it when it expires."""
    ends_ms = ask_with(TokenAdmin, lambda admin: admin.expire_token(hmac, period_ms))
    line = f"the token {'expires' if period_ms >= 0 else 'expired'} at {instant_text(ends_ms)}"
    tell({"expiry_ms": ends_ms}, line)


@app.command("describe")
def describe(
    owner: Principals = None,
    show_hmac: Annotated[
        bool, typer.Option(help="Print the HMACs. An HMAC is a password: protect the output.")
    ] = False,
) -> None:
    """List the tokens that the caller owns, may renew or may describe."""
    tokens = ask_with(TokenAdmin, lambda admin: admin.describe_tokens(owner or ()))
    if shared().as_json and show_hmac:
        rows = _table(tokens).as_json()
        tell({"rows": [{**row, "hmac": token.hmac} for row, token in zip(rows, tokens, strict=True)]}, "")
        return
    show(_table(tokens))
    for token in tokens if show_hmac else ():
        say(f"id={token.token_id} hmac={token.hmac}")


def _table(tokens: list[TokenDescription]) -> Listing:
    """The table has no HMACs: they are printed on lines of their own, which no terminal cuts."""
    table = Listing("id", "owner", "requester", "renewers", "issued", "expires", "last")
    for token in tokens:
        table.add(
            token.token_id,
            token.owner,
            token.requester,
            token.renewers,
            *map(instant_text, (token.issue_ms, token.expiry_ms, token.max_ms)),
        )
    return table
