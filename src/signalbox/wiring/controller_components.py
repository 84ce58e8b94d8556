"""Builds the controller of a node with its channels to the brokers."""

from __future__ import annotations

from signalbox.client.inter_broker.peer_channels import DeathProbe, PeerChannels
from signalbox.common.ids import new_uuid
from signalbox.configuration.configuration import NODE_CONFIG, NodeConfig
from signalbox.configuration.policies import audited
from signalbox.controller.config_rows import ControllerSettings
from signalbox.controller.controller_metrics import DECISION_TO_LEADER_AND_ISR, measure_controller
from signalbox.controller.decision import Inputs, draw
from signalbox.controller.runtime import Controller, Dependencies
from signalbox.wiring.node_context import NodeContext


def build_controller(context: NodeContext) -> tuple[Controller, PeerChannels]:
    """Returns a controller that has not joined the election yet. A connection that a broker closed is a hint for it
    that the broker may be dead. Its decisions do not wait for the tasks of the node's scheduler."""
    config, security, metrics = context.config, context.security, context.metrics
    peers = PeerChannels(
        context.cluster_id,
        security.inter_broker,
        metrics,
        lambda broker_id, was_connected: controller.on_broker_connection_refused(broker_id, was_connected),
        security.peers.of,
    )
    controller = Controller(
        config.node_id,
        context.store,
        Dependencies(
            peers,
            context.cache,
            context.scheduler.beside(),
            DeathProbe(),
            not config.runs_broker,
            metrics.histogram(DECISION_TO_LEADER_AND_ISR),
        ),
        controller_inputs(context),
        context.clock,
    )
    measure_controller(metrics, controller)
    return controller, peers


def controller_inputs(context: NodeContext) -> Inputs:
    """The inputs of decisions besides the stored metadata."""
    policies = audited(context.security.policies, context.telemetry.audit)
    return Inputs(
        _settings(context.config),
        draw,
        new_uuid,
        context.clock.now_ms,
        policies.create_topic,
        policies.alter_config,
        context.token_secret,
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
