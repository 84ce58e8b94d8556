"""`signalbox check`: checks configurations of brokers alone and together, without starting or writing anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from signalbox.common.config.config_table import ConfigFault
from signalbox.configuration.check import cluster_agreement, cluster_clashes, cluster_logins, cluster_roles
from signalbox.configuration.check.checked_broker import CheckedBroker
from signalbox.configuration.check.config_check import check_node_config
from signalbox.configuration.check.config_warnings import unknown_keys
from signalbox.configuration.check.listener_summary import ListenerSummary, summarize
from signalbox.configuration.config_file import ConfigFileError, read_config_file
from signalbox.configuration.configuration import NODE_CONFIG

_Rule = Callable[[Sequence[CheckedBroker]], Iterator[ConfigFault]]


def _of_brokers(rule: _Rule) -> _Rule:
    """Applies a rule to brokers only, not to dedicated controllers."""
    return lambda nodes: rule([node for node in nodes if node.config.runs_broker])


_FAULTS: tuple[_Rule, ...] = (
    cluster_clashes.same_id,
    cluster_clashes.same_advertised_address,
    cluster_clashes.same_port,
    _of_brokers(cluster_clashes.same_log_dirs),
    cluster_agreement.one_store,
    cluster_agreement.one_protocol,
    _of_brokers(cluster_agreement.reached_by_all),
    cluster_roles.needs_controller,
    cluster_roles.controllers_known,
    cluster_logins.settings_for_peers,
    cluster_logins.mechanisms_taken,
    cluster_logins.users_known,
    cluster_logins.certificates_trusted,
)
_NOTES: tuple[_Rule, ...] = (
    _of_brokers(cluster_agreement.one_inter_broker_listener),
    _of_brokers(cluster_agreement.one_control_plane),
    _of_brokers(cluster_agreement.same_listeners),
    _of_brokers(cluster_agreement.one_side_of_the_gate),
    cluster_roles.all_alike,
    cluster_agreement.one_token_secret,
)


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """Summary of one node whose own configuration has no fault; `name` as in `broker 1`, `controller 101`."""

    origin: str
    name: str
    listeners: Sequence[ListenerSummary]


@dataclass(frozen=True, slots=True)
class Findings:
    """`unreadable` and `faults` prevent a start or a common cluster, `warnings` do not. `compared` is the number of
    brokers that were compared with each other: those without faults of their own."""

    files: Sequence[CheckedFile]
    unreadable: Sequence[str]
    faults: Sequence[str]
    warnings: Sequence[str]
    compared: int


def check_files(paths: Sequence[Path], overrides: Sequence[str] = ()) -> Findings:
    """Returns all findings about these files, as lines that begin with file and line. `overrides` are `key=value` texts
    that replace keys of each file. Only reads files."""
    brokers: list[CheckedBroker] = []
    unreadable: list[str] = []
    faults: list[ConfigFault] = []
    warnings: list[str] = []
    for path in paths:
        try:
            properties = read_config_file(path, overrides)
        except ConfigFileError as error:
            unreadable.append(str(error))
            continue
        config, more = check_node_config(properties)
        faults += more
        if config is not None:
            brokers.append(CheckedBroker(properties, config))
            warnings += [_with_origin(properties.origin, warning) for warning in config.warnings]
        else:
            warnings += unknown_keys(properties, NODE_CONFIG)
    faults += compare(_FAULTS, brokers)
    warnings += map(str, compare(_NOTES, brokers))
    return Findings(
        [CheckedFile(checked.properties.origin, checked.name, summarize(checked.config)) for checked in brokers],
        unreadable,
        [str(fault) for fault in faults],
        warnings,
        len(brokers),
    )


def compare(rules: Sequence[_Rule], brokers: Sequence[CheckedBroker]) -> list[ConfigFault]:
    """Returns the faults that the rules find between these brokers, without duplicates."""
    return list(dict.fromkeys(fault for rule in rules for fault in rule(brokers))) if len(brokers) > 1 else []


def _with_origin(origin: str, warning: str) -> str:
    return warning if warning.startswith(f"{origin}:") else f"{origin}: {warning}"
