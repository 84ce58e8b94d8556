"""Builds the controller of a node with its channels to the brokers."""

from __future__ import annotations

from signalbox.client.inter_broker.death_probe import DeathProbe
from signalbox.client.inter_broker.peer_channels import PeerChannels
from signalbox.common.clock import Clock
from signalbox.common.ids import new_uuid
from signalbox.common.metrics import Metrics
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.configuration.configuration import NODE_CONFIG, NodeConfig
from signalbox.configuration.delegation_tokens import token_secret
from signalbox.configuration.policies import Policies
from signalbox.configuration.security_config import SecurityConfig
from signalbox.controller.controller_metrics import DECISION_TO_LEADER_AND_ISR, measure_controller
from signalbox.controller.decision import Inputs, draw
from signalbox.controller.runtime import Controller, Dependencies
from signalbox.controller.settings import ControllerSettings
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.store.port import MetadataStore


def build_controller(
    config: NodeConfig, store: MetadataStore, cluster_id: str, cache: MetadataCache, security: SecurityConfig,
    policies: Policies, metrics: Metrics, clock: Clock, scheduler: TaskScheduler,
) -> tuple[Controller, PeerChannels]:  # fmt: skip
    """Returns a controller that has not joined the election yet. A connection that a broker closed is a hint for it
    that the broker may be dead. Its decisions do not wait for the tasks of `scheduler`."""
    peers = PeerChannels(
        cluster_id,
        security.inter_broker,
        metrics,
        lambda broker_id, was_connected: controller.on_broker_connection_refused(broker_id, was_connected),
        security.peers.of,
    )
    controller = Controller(
        config.node_id,
        store,
        Dependencies(
            peers,
            cache,
            scheduler.beside(),
            DeathProbe(),
            not config.runs_broker,
            metrics.histogram(DECISION_TO_LEADER_AND_ISR),
        ),
        controller_inputs(config, policies, clock),
        clock,
    )
    measure_controller(metrics, controller)
    return controller, peers


def controller_inputs(config: NodeConfig, policies: Policies, clock: Clock) -> Inputs:
    """The inputs of decisions besides the stored metadata."""
    return Inputs(
        _settings(config),
        draw,
        new_uuid,
        clock.now_ms,
        policies.create_topic,
        policies.alter_config,
        token_secret(config.values),
    )


def _settings(config: NodeConfig) -> ControllerSettings:
    return ControllerSettings(
        num_partitions=config["num.partitions"],
        default_replication_factor=config["default.replication.factor"],
        delete_topic_enable=config["delete.topic.enable"],
        unclean_leader_election_enable=config["unclean.leader.election.enable"],
        unclean_shutdown_election_wait_ms=config["signalbox.unclean.shutdown.election.wait.ms"],
        auto_leader_rebalance_enable=config["auto.leader.rebalance.enable"],
        leader_imbalance_check_interval_seconds=config["leader.imbalance.check.interval.seconds"],
        leader_imbalance_per_broker_percentage=config["leader.imbalance.per.broker.percentage"],
        delegation_token_max_lifetime_ms=config["delegation.token.max.lifetime.ms"],
        delegation_token_expiry_time_ms=config["delegation.token.expiry.time.ms"],
        delegation_token_expiry_check_interval_ms=config["delegation.token.expiry.check.interval.ms"],
        forwarded_response_ms=2 * config["request.timeout.ms"],
        inter_broker_listener=config.listeners.inter_broker_listener_name,
        static_configs=config.originals,
        broker_config_table=NODE_CONFIG,
    )
