"""docs/client-recovery.md: when our client rebootstraps, rendered from the transition table that it executes."""

from __future__ import annotations

from signalbox.client.cluster.rebootstrap_table import TRANSITIONS, Action, Phase, Signal

_INTRODUCTION = """# Client: identity, rebootstrap, quarantine

What the client of Signalbox (`signalbox.client`, the command line, the audit trail) does when an address leads to
another node, when nodes are gone, and when the cluster changes. Rendered from the table that the client executes,
`src/signalbox/client/cluster/rebootstrap_table.py`. The keys are in the client's section of
[the configuration](configuration.md).

## Identity

A client that knows its cluster sends the cluster id and the node id that it expects with ApiVersions 5 to every node
(KIP-1242). A broker that is another node answers 129, REBOOTSTRAP_REQUIRED: nothing but ApiVersions was sent on the
connection, so no request is lost or repeated. No identity is sent to bootstrap servers, which may be any node, with
`metadata.recovery.strategy=none`, and with `metadata.cluster.check.enable=false`. Brokers with ApiVersions below 5
do not compare identities.

## Pinning

Bootstrap servers are not checked, so a name that leads to another cluster leads the client there.
`signalbox.cluster.id.policy` decides: `follow` accepts the cluster, as Kafka's clients do; `pin:<id>` and `pin-first`
reject every other one, and calls end at their deadline with the two cluster ids.

## Quarantine

After a first 129 the client rebootstraps. If the fresh metadata has the same wrong address, the route is quarantined:
requests go to the other nodes, the address is tried again every 25 ms at first and later after an eighth of the time
that has passed, at most 500 ms, and a bootstrap server is asked for a better one 1 to 60 s apart, for all routes
together at most once a second. When the address is right again, what waited for the node is sent at once, on the
connection that has shown it. If the address is wrong once more within ten minutes, it is quarantined without a
rebootstrap: the connections of the other nodes stay open. `ClusterClient.routes()` shows each route.

## Rebootstrap

To rebootstrap is to close every connection, to discard all metadata, and to resolve the names of the bootstrap servers
again. There is one rebootstrap at a time; the next may follow 1 s later, then 2, 4 … 60 s. Calls that wait go on after
it until their deadlines. A producer keeps its sequence numbers while the cluster is the same.
"""


def recovery_page() -> str:
    """The introduction, and what the client does at each signal in each phase."""
    lines = [*_INTRODUCTION.splitlines(), "", "| phase | |", "|---|---|"]
    lines += [f"| {_name(phase)} | {phase.value} |" for phase in Phase]
    lines += ["", "| action | |", "|---|---|"]
    lines += [f"| {_name(action)} | {action.value} |" for action in Action]
    lines += [
        "",
        "The action for each signal in each phase, with the phase that follows where it is another one:",
        "",
        f"| signal | {' | '.join(_name(phase) for phase in Phase)} |",
        f"|---|{'---|' * len(Phase)}",
    ]
    for signal in Signal:
        cells = [_cell(phase, signal) for phase in Phase]
        lines.append(f"| {signal.value} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _name(member: Phase | Action) -> str:
    return member.name.lower().replace("_", " ")


def _cell(phase: Phase, signal: Signal) -> str:
    following, action = TRANSITIONS[phase, signal]
    if action is Action.IGNORE and following is phase:
        return "–"
    return _name(action) if following is phase else f"{_name(action)} → {_name(following)}"
