"""Reference pages rendered from the tables: docs/configuration.md from the config rows, docs/audit-trail.md from the
audit event's columns, docs/client-recovery.md from the client's transition table, docs/metrics.md from the table of
metrics, docs/troubleshooting.md from its TOML file.
`python -m signalbox.server.reference` writes them; `--check` compares them with the tables."""

from __future__ import annotations

import sys
from pathlib import Path

from signalbox.broker.config_rows import BROKER_CONFIG
from signalbox.client.application_rows import CONSUMER_CONFIG, PRODUCER_CONFIG
from signalbox.client.config_rows import CLIENT_CONFIG
from signalbox.common.audit_event import AUDIT_FIELDS, AUDIT_SCHEMA_VERSION, AUDIT_TOPIC, AuditKind
from signalbox.common.config.config_table import ConfigTable, ConfigType, format_value
from signalbox.common.config.topic_config import TOPIC_CONFIG
from signalbox.configuration.check.without_effect import WITHOUT_EFFECT
from signalbox.controller.config_rows import CONTROLLER_CONFIG
from signalbox.coordinator.config_rows import COORDINATOR_CONFIG
from signalbox.metadata.config_rows import METADATA_CONFIG
from signalbox.network.config_rows import NETWORK_CONFIG
from signalbox.replication.config_rows import REPLICATION_CONFIG
from signalbox.server.metrics.metric_table.page import metrics_page
from signalbox.server.reference.configuration_cells import allowed, example, unit
from signalbox.server.reference.recovery_page import recovery_page
from signalbox.server.reference.troubleshooting_page import troubleshooting_page
from signalbox.storage.config_rows import STORAGE_CONFIG

CONFIG_SECTIONS: tuple[tuple[str, ConfigTable], ...] = (
    ("Broker", BROKER_CONFIG),
    ("ZooKeeper metadata store", METADATA_CONFIG),
    ("Listeners, connections, TLS, SASL", NETWORK_CONFIG),
    ("Controller", CONTROLLER_CONFIG),
    ("Logs", STORAGE_CONFIG),
    ("Replication", REPLICATION_CONFIG),
    ("Coordinators: groups and transactions", COORDINATOR_CONFIG),
    ("Topics", TOPIC_CONFIG),
    ("Signalbox clients: the file of `--command-config`, `ClientSettings.from_properties`", CLIENT_CONFIG),
    ("Producer of `signalbox.client`", PRODUCER_CONFIG),
    ("Consumers of `signalbox.client`", CONSUMER_CONFIG),
)
_CLIENT_TABLES = (id(CLIENT_CONFIG), id(PRODUCER_CONFIG), id(CONSUMER_CONFIG))
_CHANGES = {id(TOPIC_CONFIG): "per topic", **dict.fromkeys(_CLIENT_TABLES, "per client")}

_CONFIG_COLUMNS = "| key | type | unit | range | default | example | update mode | description |"
_KINDS = {
    AuditKind.ADMIN: "a change: decided by this node, the active controller, or rejected by the receiving broker",
    AuditKind.FORWARDED: "the broker forwarded a change, or a part of it, to the active controller in an Envelope",
    AuditKind.REJECTED: "a request that this listener or plane does not accept",
    AuditKind.MISROUTED: "a connection that was meant for another node or cluster (KIP-1242)",
    AuditKind.ADVERTISED_ADDRESS: "this broker's check of an advertised address, its own or a peer's (`target_node`),"
    " has another result than before: verified, unverified, or wrong",
    AuditKind.DENIED: "authentication or authorization failed",
    AuditKind.POLICY: "a policy rejected a change",
    AuditKind.CONNECTION_OPEN: "a connection was set up and can send requests",
    AuditKind.CONNECTION_CLOSE: "a connection was closed, with the reason",
    AuditKind.ROLLUP: "many requests of one API on one connection, counted over a time window",
}


def configuration_page() -> str:
    """Every key with its type, unit, range, default or example, how it can change and its meaning."""
    lines = [
        "# Configuration",
        "",
        "Every configuration key, rendered from the tables that the start and DescribeConfigs read. If Kafka has the",
        "key, name, type and default are Kafka's unless the row says otherwise. A key of one listener has the prefix",
        "`listener.name.<lower-case name>.`. Update modes are those of KIP-226: read-only keys need a restart,",
        "per-broker keys change dynamically for one broker, and cluster-wide keys for one broker or for all. A key",
        "without a default, or whose default is empty, has an example; without a range, every value of its type is",
        "accepted.",
    ]
    for title, table in CONFIG_SECTIONS:
        lines += ["", f"## {title}", "", _CONFIG_COLUMNS, "|---|---|---|---|---|---|---|---|"]
        for row in sorted(table, key=lambda row: row.name):
            secret = row.type is ConfigType.PASSWORD
            default = "" if row.default in (None, "", []) or secret else f"`{format_value(row.default)}`"
            change = _CHANGES.get(id(table), row.dynamic.value)
            doc = row.doc.replace("|", "\\|")
            if row.name in WITHOUT_EFFECT and id(table) not in _CLIENT_TABLES:
                doc += f" No effect yet: {WITHOUT_EFFECT[row.name]}."
            sample = f"`{example(row)}`" if example(row) else ""
            cells = (row.type.name.lower(), unit(row), allowed(row), default, sample, change, doc)
            lines.append(f"| `{row.name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def audit_page() -> str:
    """The audit topic, its kinds of events and its columns."""
    lines = [
        "# Audit trail",
        "",
        f"The topic `{AUDIT_TOPIC}`, schema version {AUDIT_SCHEMA_VERSION}. Brokers write it over the inter-broker",
        "listener, and dedicated controllers write it too. On client listeners it can be read, but clients can neither",
        "produce to it nor delete its records. Each record is one event: a JSON object. The key is the broker id; for",
        "a dedicated controller it is the node id (`broker_epoch` is then the epoch of its registration). Requests on",
        "the audit topic, its replication, and AlterPartition are not recorded.",
        "",
        "## Completeness",
        "",
        "The audit trail is complete if `seq` counts from 0 without gap or repetition for each (`broker_id`,",
        "`broker_epoch`). Numbers are assigned when events are recorded, so an event that was dropped leaves a gap.",
        "",
        "## Rejected connections",
        "",
        "Rejections that a client can repeat at will are counted: connections that are rejected before they send a",
        "request (too many connections of an address, too high a creation rate, no TLS, incomplete set-up), frames",
        "that cannot be read, APIs and versions that the listener does not serve, and failed logins. The first is",
        "recorded at once as an event; those of the next ten seconds with the same listener, kind, client address,",
        "client id, API and reason are recorded as one event with `count` and the start and end of the window. An",
        "address that varies client id, API or reason gets ten such windows; its further rejections share one, with",
        "the details of the last.",
        "",
        "## Retention",
        "",
        "The topic is limited by time (`signalbox.audit.topic.retention.ms`) and by size",
        "(`signalbox.audit.topic.retention.bytes` for each partition). Both are set when the topic is created, and can",
        "be changed later with `retention.ms` and `retention.bytes` of the topic. A topic without a `retention.bytes`",
        "of its own gets it from a broker that starts; -1 means no limit.",
        "",
        "## Kinds of events",
        "",
        "| kind | meaning |",
        "|---|---|",
    ]
    lines += [f"| `{kind.value}` | {_KINDS[kind]} |" for kind in AuditKind]
    lines += [
        "",
        "## Columns",
        "",
        "A text that a client chooses has at most 1,000 characters in an event, `resource` 6,000: a longer one is cut,",
        "and ends with `...`.",
        "",
        "| column | type |",
        "|---|---|",
    ]
    lines += [f"| `{field.name}` | {field.type} |" for field in AUDIT_FIELDS]
    return "\n".join(lines) + "\n"


PAGES = {
    "configuration.md": configuration_page,
    "audit-trail.md": audit_page,
    "client-recovery.md": recovery_page,
    "metrics.md": metrics_page,
    "troubleshooting.md": troubleshooting_page,
}


def main(arguments: list[str]) -> int:
    stale = []
    for name, render in PAGES.items():
        page = Path("docs") / name
        if "--check" not in arguments:
            page.write_text(render())
        elif not page.exists() or page.read_text() != render():
            stale.append(f"docs/{name} is not current: run python -m signalbox.server.reference")
    for problem in stale:
        print(problem, file=sys.stderr)
    return 1 if stale else 0
