"""`signalbox drill`: wrong routes and answers on purpose, in the cluster of `signalbox up --drill`, while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from signalbox.cli.connect import fail, say, show, tell
from signalbox.cli.drill.fault_commands import DATA, FaultCommand, command_of
from signalbox.cli.local_cluster.cluster_folder import default_folder
from signalbox.cli.shell.listing import Listing
from signalbox.cli.shell.shared_options import shared
from signalbox.testing.control.control_socket import NoControl, ask_control

_WRONG = 2

FAULT_COMMANDS = (
    FaultCommand(
        "swap",
        "SwapAddresses",
        "The address of each of two brokers leads to the other one.\n\nExample: signalbox drill swap 1 2",
    ),
    FaultCommand(
        "send-elsewhere",
        "SendElsewhere",
        "The address of a broker leads to another broker, or to any host:port.",
        own_help=(("to", "Id of a broker, or host:port."),),
    ),
    FaultCommand("balance", "BalanceAddress", "Connections to the address of a broker reach several brokers in turn."),
    FaultCommand("close-port", "RefuseConnections", "Nothing listens at the address of a broker."),
    FaultCommand("blackhole", "Stall", "Connections to a broker are accepted, and no byte passes."),
    FaultCommand("mute", "DropResponses", "Requests reach a broker, and no byte of its responses arrives."),
    FaultCommand("half-open", "HalfOpen", "Open connections to a broker lose their other end and stay silent."),
    FaultCommand("reset", "ResetConnections", "Connections to a broker are reset, the open ones and each new one."),
    FaultCommand("delay", "Delay", "Every byte to and from a broker is late."),
    FaultCommand("cut-after", "CutAfterBytes", "Each connection to a broker is cut after so many bytes."),
    FaultCommand(
        "answer",
        "AnswerWithError",
        "Requests of an API get an error; the broker does not get them.\n\n"
        "Example: signalbox drill answer Produce NOT_LEADER_OR_FOLLOWER --times 3",
    ),
    FaultCommand("delay-response", "DelayResponse", "Responses of an API are late."),
    FaultCommand("throttle", "Throttle", "Responses of an API say that the client is to wait, as over a quota."),
    FaultCommand("drop-response", "StallResponse", "The broker handles requests of an API; no response arrives."),
    FaultCommand("drop-request", "DropRequest", "The broker does not get requests of an API; no response arrives."),
    FaultCommand("cut-request", "CutBeforeRequest", "The connection is cut before the broker gets the request."),
    FaultCommand("cut-response", "CutAfterRequest", "The broker handles the request; the connection is cut then."),
    FaultCommand("answer-as-node", "WrongNode", "At the address of a broker is another node, as ApiVersions shows."),
    FaultCommand("answer-as-cluster", "WrongCluster", "A broker belongs to another cluster, as its responses show."),
    FaultCommand("cap-api-versions", "CapApiVersions", "ApiVersions 5 is hidden, as by an older proxy.", ("version",)),
    FaultCommand("cap-versions", "CapVersions", "A broker serves fewer versions of an API, as another release does."),
    FaultCommand("rewrite-metadata", "RewriteMetadata", "Metadata with other addresses, or without some brokers."),
    FaultCommand(
        "move-leader",
        "MoveLeader",
        "Another broker leads a partition.",
        own_help=(("topic", "The topic."), ("to", "Id of the new leader; default: one of those in sync.")),
    ),
    FaultCommand(
        "move-coordinator",
        "MoveCoordinator",
        "Another broker coordinates a group, or the transactions of a producer.\n\n"
        "Example: signalbox drill move-coordinator --group payments",
        own_help=(("to", "Id of the new coordinator; default: one of those in sync."),),
    ),
    FaultCommand("fence", "FenceProducer", "A producer is fenced, and its open transaction is aborted."),
)

app = typer.Typer(help="Faults of the cluster of `up --drill`: apply, list, clear.", no_args_is_help=True)


@app.command("list")
def list_faults(data: DATA = None) -> None:
    """List the faults that are applied, and where the addresses of the brokers lead."""
    response = _ask(data, {"do": "list"})
    addresses = Listing("broker", "listener", "address", "leads to", "open", "accepted", title="addresses")
    for row in response["addresses"]:
        addresses.add(*(row[name] for name in ("broker", "listener", "address", "leads_to", "open", "accepted")))
    faults = Listing("number", "fault")
    for row in response["faults"]:
        faults.add(row["number"], row["fault"])
    if shared().as_json:
        tell({"addresses": addresses, "faults": faults}, "")
        return
    show(addresses)
    if faults.rows:
        show(faults)
    else:
        say("no faults")


@app.command("clear")
def clear(
    numbers: Annotated[list[int] | None, typer.Argument(metavar="NUMBER...", help="Of `list`; default: all.")] = None,
    data: DATA = None,
) -> None:
    """Take faults back: those with these numbers, or all.

    Example: signalbox drill clear
    """
    cleared = _ask(data, {"do": "clear", "numbers": numbers or []})["cleared"]
    tell({"cleared": cleared}, f"cleared: {', '.join(map(str, cleared)) or 'none'}")


def _apply(data: Path | None, fault: str, values: dict[str, str]) -> None:
    response = _ask(data, {"do": "apply", "fault": fault, "fields": values})
    tell(response, f"{response['number']}: {response['fault']}")


def _ask(data: Path | None, request: dict[str, Any]) -> dict[str, Any]:
    """The response; an error ends the command."""
    try:
        response = ask_control((data or default_folder()).absolute(), request)
    except NoControl as error:
        fail(str(error))
    if "error" in response:
        fail(response["error"], code=_WRONG)
    return response


for _row in FAULT_COMMANDS:
    app.command(_row.name)(command_of(_row, _apply))
