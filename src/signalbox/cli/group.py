"""`signalbox group`: consumer groups, their members and their committed offsets."""

from __future__ import annotations

import typer
from rich.table import Table

from signalbox.cli.connect import DEFAULT_BOOTSTRAP, Bootstrap, ask, report, say, show

app = typer.Typer(help="Consumer groups: list, describe, offsets, delete.", no_args_is_help=True)


@app.command("list")
def list_groups(bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """List groups with their states."""
    table = Table("group", "state", "protocol", "type")
    for group in sorted(ask(bootstrap, lambda admin: admin.list_groups()), key=lambda group: group.group_id):
        table.add_row(group.group_id, group.state, group.protocol_type, group.type)
    show(table)


@app.command("describe")
def describe(group_id: str, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Describe state, coordinator and members of a group."""
    group = ask(bootstrap, lambda admin: admin.describe_group(group_id))
    say(f"{group.group_id}: {group.state}, assignor {group.protocol or '-'}, coordinator {group.coordinator_id}")
    table = Table("member", "instance", "client id", "host")
    for member in group.members:
        table.add_row(member.member_id, member.group_instance_id or "", member.client_id, member.client_host)
    show(table)


@app.command("offsets")
def offsets(group_id: str, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Show committed offsets per partition."""
    table = Table("topic", "partition", "offset", "leader epoch", title=group_id)
    committed = ask(bootstrap, lambda admin: admin.committed_offsets(group_id))
    for (topic, partition), entry in sorted(committed.items()):
        table.add_row(topic, str(partition), str(entry.offset), str(entry.leader_epoch))
    show(table)


@app.command("delete")
def delete(group_ids: list[str], bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Delete empty groups and their committed offsets."""
    report(ask(bootstrap, lambda admin: admin.delete_groups(group_ids)), "deleted")
