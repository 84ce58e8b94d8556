"""`signalbox group`: consumer groups, their members, their committed offsets and their lag."""

from __future__ import annotations

import typer

from signalbox.cli.connect import ask, ask_with, report, say, show, tell
from signalbox.cli.groups.group_lag import describe_listed, lag
from signalbox.cli.groups.reset_offsets import reset_offsets
from signalbox.cli.shell.listing import Listing
from signalbox.cli.shell.shared_options import shared
from signalbox.client.admin_apis.group_admin import GroupAdmin

app = typer.Typer(help="Consumer groups: list, describe, lag, offsets, reset-offsets, delete.", no_args_is_help=True)


@app.command("list", epilog="Example: signalbox group list")
def list_groups() -> None:
    """List groups with their states."""
    table = Listing("group", "state", "protocol", "type")
    for group in sorted(ask_with(GroupAdmin, lambda admin: admin.list_groups()), key=lambda group: group.group_id):
        table.add(group.group_id, group.state, group.protocol_type, group.type)
    show(table)


@app.command("describe", epilog="Example: signalbox group describe readers --json")
def describe(group_id: str) -> None:
    """Describe state, coordinator and members of a group."""
    group = ask(lambda admin: describe_listed(admin, group_id))
    if group.coordinator_id < 0:
        typer.echo(f"{group_id} has the protocol `{group.protocol_type}`: its members are not shown", err=True)
    table = Listing("member", "instance", "client id", "host")
    for member in group.members:
        table.add(member.member_id, member.group_instance_id, member.client_id, member.client_host)
    if shared().as_json:
        facts = {"group": group.group_id, "state": group.state, "assignor": group.protocol}
        tell({**facts, "coordinator": group.coordinator_id, "members": table}, "")
        return
    say(f"{group.group_id}: {group.state}, assignor {group.protocol or '-'}, coordinator {group.coordinator_id}")
    show(table)


@app.command("offsets", epilog="Example: signalbox group offsets readers")
def offsets(group_id: str) -> None:
    """Show committed offsets per partition."""
    table = Listing("topic", "partition", "offset", "leader epoch", title=group_id)
    committed = ask_with(GroupAdmin, lambda admin: admin.committed_offsets(group_id))
    for (topic, partition), entry in sorted(committed.items()):
        table.add(topic, partition, entry.offset, entry.leader_epoch)
    show(table)


@app.command("delete")
def delete(group_ids: list[str]) -> None:
    """Delete empty groups and their committed offsets."""
    report(ask_with(GroupAdmin, lambda admin: admin.delete_groups(group_ids)), "deleted")


app.command("lag", epilog="Example: signalbox group lag readers --json")(lag)
app.command(
    "reset-offsets",
    epilog="Example: signalbox group reset-offsets readers -t flights --to-datetime 2026-11-26T08:00:00 --execute",
)(reset_offsets)
