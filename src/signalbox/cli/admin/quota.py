"""`signalbox quota`: the client quotas of users, client ids and IP addresses (KIP-546)."""

from __future__ import annotations

from typing import Annotated

import typer

from signalbox.cli.connect import ask_with, fail, pairs, report, show
from signalbox.cli.shell.listing import Listing
from signalbox.client.admin_apis.quota_admin import ANY_NAME, AnyName, QuotaAdmin, quota_entity

app = typer.Typer(help="Client quotas: describe, alter.", no_args_is_help=True)

_DEFAULT = "<default>"
_NAME = "NAME"
User = Annotated[
    str | None, typer.Option(metavar=_NAME, help=f"User name; {_DEFAULT!r} for users without a quota of their own.")
]
ClientId = Annotated[
    str | None, typer.Option(metavar=_NAME, help=f"Client id; {_DEFAULT!r} for those without a quota of their own.")
]
Ip = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help=f"Client address; {_DEFAULT!r} for those without a quota.")
]


@app.command("describe", epilog="Example: signalbox quota describe --user alice")
def describe(user: User = None, client_id: ClientId = None, ip: Ip = None) -> None:
    """List quotas: all, or those of a user, client id or address. The name * matches every name."""
    entity = _components(user, client_id, ip)
    components: dict[str, str | AnyName | None] = {
        type_: ANY_NAME if name == "*" else name for type_, name in entity.items()
    }
    listing = Listing("user", "client id", "ip", "quota", "value")
    quotas = ask_with(QuotaAdmin, lambda admin: admin.describe_quotas(components))
    for key, values in sorted(quotas.items(), key=lambda item: sorted(item[0], key=str)):
        names = {type_: _DEFAULT if name is None else name for type_, name in key}
        for quota, value in sorted(values.items()):
            number = int(value) if value.is_integer() else value
            listing.add(names.get("user"), names.get("client-id"), names.get("ip"), quota, number)
    show(listing)


@app.command("alter", epilog="Example: signalbox quota alter --user alice producer_byte_rate=1048576")
def alter(
    values: Annotated[
        list[str],
        typer.Argument(
            help="producer_byte_rate, consumer_byte_rate, request_percentage, controller_mutation_rate or (with --ip)"
            " connection_creation_rate =number; key= removes the quota."
        ),
    ],
    user: User = None,
    client_id: ClientId = None,
    ip: Ip = None,
    validate_only: Annotated[bool, typer.Option(help="Validate the change without applying it.")] = False,
) -> None:
    """Set or remove quotas of a user, a client id, a user with a client id, or an address."""
    entity = _components(user, client_id, ip)
    if not entity or ("ip" in entity and len(entity) > 1):
        fail("--user, --client-id or both are required, or --ip alone", code=2)
    changes: dict[str, float | None] = {}
    for key, text in pairs(values, "VALUES").items():
        try:
            changes[key] = float(text) if text else None
        except ValueError:
            fail(f"{key} takes a number, not {text!r}", code=2)
    target = quota_entity(entity)
    results = ask_with(QuotaAdmin, lambda admin: admin.alter_quotas({target: changes}, validate_only=validate_only))
    report(results, "would be changed" if validate_only else "changed")


def _components(user: str | None, client_id: str | None, ip: str | None) -> dict[str, str | None]:
    names = {"user": user, "client-id": client_id, "ip": ip}
    return {type_: None if name == _DEFAULT else name for type_, name in names.items() if name is not None}
