"""What both kinds of node are built on: the loops, metrics and audit trail of the process, the opened metadata store,
and what is read from it before the first listener can be built."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from signalbox.broker.epoch_checks import LocalEpochs
from signalbox.common.clock import Clock, SystemClock
from signalbox.common.metrics import Metrics
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.configuration.authorizers import open_acl_repository
from signalbox.configuration.configuration import NODE_CONFIG, NodeConfig
from signalbox.configuration.delegation_tokens import DelegationTokens, token_secret
from signalbox.configuration.dynamic_broker_config import DynamicBrokerConfig
from signalbox.configuration.security_config import SecurityConfig, read_security_config
from signalbox.metadata.acl_repository import AclRepository
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.salt_secret import SaltSecretRepository
from signalbox.metadata.store.port import MetadataStore
from signalbox.security.delegation_token import TokenSecret
from signalbox.security.sasl.scram_messages import Salts
from signalbox.server.store.finalized_features import follow_features
from signalbox.server.stored_users import StoredUsers
from signalbox.server.telemetry import Telemetry
from signalbox.transport.data_loop import DataLoop
from signalbox.transport.node_event_loop import MeasuredLoop
from signalbox.transport.time_slice import TimeSlice, has_short_slices
from signalbox.transport.tls.tls_session import HandshakeThreads
from signalbox.wiring.component import Component, RunningComponents


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRuntime:
    """What a node has before its metadata store is open. `fail` is called with the reason of a fatal failure."""

    config: NodeConfig
    clock: Clock
    fail: Callable[[str], None]
    telemetry: Telemetry
    threads: HandshakeThreads
    data_loop: DataLoop
    scheduler: TaskScheduler

    @classmethod
    def create(cls, config: NodeConfig, fail: Callable[[str], None]) -> NodeRuntime:
        """To be called in the node's event loop."""
        loop, clock, threads = asyncio.get_running_loop(), SystemClock(), HandshakeThreads()
        slice_us = config["signalbox.event.loop.slice.us"]
        scheduler = TaskScheduler(loop, slice_us)
        telemetry = Telemetry.begin(config, clock, scheduler)
        if isinstance(loop, MeasuredLoop):
            loop.poll_gaps.register(telemetry.metrics)
        return cls(
            config=config,
            clock=clock,
            fail=fail,
            telemetry=telemetry,
            threads=threads,
            data_loop=DataLoop(loop, slice_us, threads, TimeSlice() if has_short_slices() else None),
            scheduler=scheduler,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeContext:
    """A node's runtime, store and stored metadata. `token_secret` is None without delegation tokens, `tokens` on a
    dedicated controller too; `acls` is None for an authorizer with a view of ACLs of its own."""

    runtime: NodeRuntime
    store: MetadataStore
    cluster_id: str
    epochs: LocalEpochs
    cache: MetadataCache
    repository: ConfigRepository
    dynamic: DynamicBrokerConfig
    users: StoredUsers
    token_secret: TokenSecret | None
    tokens: DelegationTokens | None
    security: SecurityConfig
    acls: AclRepository | None

    @property
    def config(self) -> NodeConfig:
        return self.runtime.config

    @property
    def clock(self) -> Clock:
        return self.runtime.clock

    @property
    def telemetry(self) -> Telemetry:
        return self.runtime.telemetry

    @property
    def metrics(self) -> Metrics:
        return self.runtime.telemetry.metrics

    @property
    def data_loop(self) -> DataLoop:
        return self.runtime.data_loop

    @property
    def scheduler(self) -> TaskScheduler:
        return self.runtime.scheduler


async def read_node_context(
    runtime: NodeRuntime, store: MetadataStore, cluster_id: str, running: RunningComponents
) -> NodeContext:
    """Read configs, salts, tokens, ACLs and features, and follow their changes from then on: their readers are added
    to `running`. StartError, StoreError, ConfigRejected."""
    config, clock, scheduler = runtime.config, runtime.clock, runtime.scheduler
    repository, salts, cache = ConfigRepository(store, clock), Salts(), MetadataCache()
    secret = token_secret(config.values)
    tokens = None
    if secret is not None and config.runs_broker:
        tokens = DelegationTokens(store, clock, scheduler, secret, salts)
    salt_secret = SaltSecretRepository(store, salts.use)
    readers = [
        Component(name="configs", start=repository.start, stop=repository.stop),
        Component(name="SCRAM salt secret", start=salt_secret.start, stop=salt_secret.stop),
    ]
    if tokens is not None:
        readers.append(Component(name="delegation tokens", start=tokens.start, stop=tokens.stop))
    await running.start(readers)
    dynamic = DynamicBrokerConfig(repository, config.node_id, NODE_CONFIG, config.values)
    users, live = StoredUsers(repository, salts, tokens), dynamic.changed_live() if config.runs_broker else None
    security = read_security_config(config, users, live, runtime.threads.control)
    acls = open_acl_repository(store, clock, scheduler, security.authorizer)
    if acls is not None:
        await running.start([Component(name="ACLs", start=acls.start, stop=acls.stop)])
    features = follow_features(store, cache, runtime.fail)
    await running.start([Component(name="features", start=features.start, stop=features.stop)])
    return NodeContext(
        runtime=runtime,
        store=store,
        cluster_id=cluster_id,
        epochs=LocalEpochs(config.node_id),
        cache=cache,
        repository=repository,
        dynamic=dynamic,
        users=users,
        token_secret=secret,
        tokens=tokens,
        security=security,
        acls=acls,
    )
