"""Reference pages rendered from the tables: docs/configuration.md from the config rows, docs/audit-trail.md from the
audit event's columns. `python -m signalbox.wiring.reference` writes them, `--check` says whether they are current."""

from __future__ import annotations

import sys
from pathlib import Path

from signalbox.broker.config_rows import BROKER_CONFIG
from signalbox.common.audit_event import AUDIT_FIELDS, AUDIT_SCHEMA_VERSION, AUDIT_TOPIC, AuditKind
from signalbox.common.config_table import ConfigTable, ConfigType, format_value
from signalbox.common.topic_config import TOPIC_CONFIG
from signalbox.controller.config_rows import CONTROLLER_CONFIG
from signalbox.coordinator.config_rows import COORDINATOR_CONFIG
from signalbox.metadata.config_rows import METADATA_CONFIG
from signalbox.network.config_rows import NETWORK_CONFIG
from signalbox.replication.config_rows import REPLICATION_CONFIG
from signalbox.storage.config_rows import STORAGE_CONFIG
from signalbox.wiring.check.without_effect import WITHOUT_EFFECT

_SECTIONS: tuple[tuple[str, ConfigTable], ...] = (
    ("Broker", BROKER_CONFIG),
    ("Metadata in ZooKeeper", METADATA_CONFIG),
    ("Listeners, connections, TLS, SASL", NETWORK_CONFIG),
    ("Controller", CONTROLLER_CONFIG),
    ("Logs", STORAGE_CONFIG),
    ("Replication", REPLICATION_CONFIG),
    ("Consumer groups", COORDINATOR_CONFIG),
    ("Topics", TOPIC_CONFIG),
)

_KINDS = {
    AuditKind.ADMIN: "a change was decided by the active controller, here, or refused by the broker that was asked",
    AuditKind.FORWARDED: "a change, or a part of it, was sent on to the active controller in an Envelope",
    AuditKind.REFUSED: "a request that this listener or plane does not take",
    AuditKind.MISROUTED: "a connection that meant another node or cluster (KIP-1242)",
    AuditKind.DENIED: "authentication or authorisation failed",
    AuditKind.POLICY: "a policy refused a change",
    AuditKind.CONNECTION_OPEN: "a peer got as far as sending requests",
    AuditKind.CONNECTION_CLOSE: "it left, and why",
    AuditKind.ROLLUP: "many requests of one API on one connection",
}


def configuration_page() -> str:
    """Every key with type, default, how it can change and what it means."""
    lines = [
        "# Configuration",
        "",
        "Rendered from the config rows that start-up and DescribeConfigs read. Names, types and defaults are Kafka's",
        "where Kafka has the key; a row says where we differ. For one listener alone:",
        "`listener.name.<lower-case name>.<key>`.",
    ]
    for title, table in _SECTIONS:
        lines += ["", f"## {title}", "", "| key | type | default | can change | meaning |", "|---|---|---|---|---|"]
        for row in sorted(table, key=lambda row: row.name):
            secret = row.type is ConfigType.PASSWORD
            default = "" if row.default is None or secret else f"`{format_value(row.default)}`"
            change = "per topic" if table is TOPIC_CONFIG else row.dynamic.value
            doc = row.doc.replace("|", "\\|")
            if row.name in WITHOUT_EFFECT:
                doc += f" No effect yet: {WITHOUT_EFFECT[row.name]}."
            lines.append(f"| `{row.name}` | {row.type.name.lower()} | {default} | {change} | {doc} |")
    return "\n".join(lines) + "\n"


def audit_page() -> str:
    """The audit topic, its kinds of events and its columns."""
    lines = [
        "# The audit trail",
        "",
        f"Topic `{AUDIT_TOPIC}`, schema version {AUDIT_SCHEMA_VERSION}. Brokers write it, over the inter-broker",
        "listener, and so do dedicated controllers; on listeners of clients it can be read, but neither written nor",
        "cut. One record is one event: a JSON object, keyed by the broker id, which is the node id where a dedicated",
        "controller writes (`broker_epoch` is then that of its registration). A trail is complete when `seq` has no",
        "gap per (`broker_id`, `broker_epoch`):",
        "numbers are taken when events are recorded, so an event that had to be dropped leaves a gap. Requests on the",
        "audit topic, its replication and AlterPartition are left out.",
        "",
        "| kind | means |",
        "|---|---|",
    ]
    lines += [f"| `{kind.value}` | {_KINDS[kind]} |" for kind in AuditKind]
    lines += ["", "| column | type |", "|---|---|"]
    lines += [f"| `{field.name}` | {field.type} |" for field in AUDIT_FIELDS]
    return "\n".join(lines) + "\n"


PAGES = {"configuration.md": configuration_page, "audit-trail.md": audit_page}


def main(arguments: list[str]) -> int:
    stale = []
    for name, render in PAGES.items():
        page = Path("docs") / name
        if "--check" not in arguments:
            page.write_text(render())
        elif not page.exists() or page.read_text() != render():
            stale.append(f"docs/{name} is not current: run python -m signalbox.wiring.reference")
    for problem in stale:
        print(problem, file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
