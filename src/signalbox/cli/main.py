"""The command line: the table of all commands. Each command is in its own file, and is imported when it is used.

A command reports the errors that it expects. An error of the file system that a command does not expect (a directory
instead of a file, a full disk, permissions) ends any command with one line, too.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Sequence
from typing import Any

import typer

from signalbox.cli.shell.lazy_commands import HELP_NAMES, Commands, CommandTable, LazyCommand
from signalbox.cli.shell.shared_options import LOCAL, OUTPUT, reject_unshared

_Row = LazyCommand

COMMANDS = (
    _Row("start", "start:start", "Start one broker in the foreground.", LOCAL),
    _Row("check", "check:check", "Validate brokers' configurations without starting a broker.", OUTPUT),
    _Row("up", "up:up", "Start a cluster on this host; Ctrl-C or `down` stops it.", OUTPUT),
    _Row("down", "local_cluster.down:down", "Stop the cluster that `up` runs in a folder.", OUTPUT),
    _Row("drill", "drill.drill:app", "Faults of the cluster of `up --drill`: apply, list, clear.", OUTPUT),
    _Row("demo", "demo.run:demo", "Show the main use case on real data, with checks in each step.", LOCAL),
    _Row("doctor", "doctor.command:doctor", "Examine which node responds at every address of a Kafka cluster."),
    _Row("planes", "planes:planes", "Show planes and listeners live: queues, idle ratio, errors.", OUTPUT),
    _Row("forwarding", "forwarding:forwarding", "Show forwarded requests and connected client software.", OUTPUT),
    _Row("produce", "records.produce:produce", "Produce a record per line of standard input or of a file."),
    _Row("consume", "records.consume:consume", "Print the records of topics, alone or as a member of a group."),
    _Row("topic", "topic:app", "Topics: list, create, describe, delete, add partitions, elect."),
    _Row("reassign", "reassign:app", "Partition reassignments: start, cancel, list."),
    _Row("config", "config:app", "Configs of topics and brokers: describe, set."),
    _Row("group", "group:app", "Consumer groups: list, describe, lag, reset offsets, delete."),
    _Row("acl", "acl:app", "Access control: list, create, delete."),
    _Row("user", "user:app", "SCRAM users: list, set, delete."),
    _Row("token", "token:app", "Delegation tokens: create, renew, expire, describe."),
    _Row("cluster", "cluster:app", "The cluster: id, brokers, controller, health."),
    _Row(
        "storage", "metadata_store.store_format:storage", "Alias of `store format`, as in Kafka.", OUTPUT, hidden=True
    ),
    _Row("store", "metadata_store.store:app", "The metadata store: format, copy, back up, restore, accept.", OUTPUT),
    _Row("pipeline", "pipeline:app", "Write topics and the audit trail to Delta tables with Spark."),
    _Row("quota", "admin.quota:app", "Client quotas: describe, alter."),
    _Row("log-dirs", "admin.log_dirs:log_dirs", "Log directories of brokers, with sizes of replicas."),
    _Row("features", "admin.features:app", "Features of the cluster: describe, upgrade, downgrade."),
    _Row(
        "delete-records", "records.delete_records:delete_records", "Delete the records of partitions below an offset."
    ),
    _Row("audit", "records.audit_tail:app", "The audit trail: tail."),
    _Row("profiles", "shell.profiles:profiles", "The named clusters of profiles.toml.", OUTPUT),
    _Row("completion", "shell.completion:completion", "Print the completion script of a shell.", LOCAL),
)


class AllCommands(Commands):
    """The commands of the table."""

    table = CommandTable(COMMANDS)


app = typer.Typer(
    name="signalbox",
    cls=AllCommands,
    help="A Kafka-wire-compatible broker cluster built around request routing.",
    context_settings=HELP_NAMES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def options(context: typer.Context) -> None:
    """A Kafka-wire-compatible broker cluster built around request routing."""
    if context.invoked_subcommand is not None:
        reject_unshared(context.invoked_subcommand, AllCommands.table.rows[context.invoked_subcommand].shares)


def run() -> Any:
    """Entry point of the console script."""
    # Imports make many objects that stay: searching them for garbage costs time, and so does a search at the end.
    gc.set_threshold(50_000)
    atexit.register(gc.freeze)
    reject_invalid_utf8(sys.argv[1:])
    app()


def reject_invalid_utf8(arguments: Sequence[str]) -> None:
    """Ends with status 2 for an argument whose bytes are not UTF-8: Kafka's texts are, and no file could be written
    with it."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            typer.echo(f"the argument {argument!a} is not UTF-8", err=True)
            sys.exit(2)
