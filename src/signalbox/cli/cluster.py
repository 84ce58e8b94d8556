"""`signalbox cluster`: the brokers, with their addresses on the bootstrap listener."""

from __future__ import annotations

import typer
from rich.table import Table

from signalbox.cli.connect import DEFAULT_BOOTSTRAP, Bootstrap, ask, say, show

app = typer.Typer(help="The cluster: id and brokers.", no_args_is_help=True)


@app.command("describe")
def describe(bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Describe cluster id and brokers, with their addresses on the bootstrap listener."""
    description = ask(bootstrap, lambda admin: admin.describe_cluster())
    table = Table("broker", "address", "rack", title=f"cluster {description.cluster_id}")
    for node in sorted(description.nodes, key=lambda node: node.node_id):
        table.add_row(str(node.node_id), str(node.address), node.rack or "")
    show(table)


@app.command("id")
def cluster_id(bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Print the cluster id."""
    say(ask(bootstrap, lambda admin: admin.describe_cluster()).cluster_id or "")
