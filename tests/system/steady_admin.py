"""Continuous admin changes, each retried until it succeeds, and the checks at the end: no change with a successful
response may be lost, and no client's change may be overwritten by another client's change of something else."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from confluent_kafka.cimpl import NewTopic

from signalbox.client import admin as own
from signalbox.client.admin_apis.config_admin import ConfigChange
from signalbox.client.admin_apis.config_admin import ConfigResource as OwnResource
from signalbox.client.admin_apis.topic_admin import NewTopic as OwnNewTopic
from signalbox.client.failures import ClientFailure
from signalbox.protocol.config_resource import ConfigResourceType as OwnResourceType
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.security import acl

SHARED = "shared"  # the resource whose ACLs all change
_GIVES_UP_S = 40.0
_PACE_S = 0.02


class Changes(Protocol):
    """The changes that one client can make; a change that raises is retried."""

    def topic(self, name: str) -> None: ...

    def config(self, topic: str, key: str, value: str) -> None: ...

    def user(self, name: str) -> None: ...

    def acl(self, principal: str) -> None: ...

    def close(self) -> None: ...


class LookedUp:
    """librdkafka: looks the controller up in Metadata for topics, users and ACLs; configs go to any broker."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2, "socket.timeout.ms": 10_000})

    def topic(self, name: str) -> None:
        self._admin.list_topics(timeout=10)  # it caches the controller, even one that has returned NOT_CONTROLLER
        made = self._admin.create_topics([NewTopic(name, 1, replication_factor=3)], operation_timeout=20)[name]
        try:
            made.result(20)
        except KafkaException as error:
            if error.args[0].name() != "TOPIC_ALREADY_EXISTS":
                raise

    def config(self, topic: str, key: str, value: str) -> None:
        entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        self._admin.incremental_alter_configs([resource])[resource].result(20)

    def user(self, name: str) -> None:
        wanted = UserScramCredentialUpsertion(name, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), b"s3cret")
        self._admin.alter_user_scram_credentials([wanted])[name].result(20)

    def acl(self, principal: str) -> None:
        where = (ResourceType.TOPIC, SHARED, ResourcePatternType.LITERAL)
        binding = AclBinding(*where, principal, "*", AclOperation.READ, AclPermissionType.ALLOW)
        self._admin.create_acls([binding])[binding].result(20)

    def close(self) -> None:
        """Nothing to close."""


class Anywhere:
    """Our own client: sends requests to any broker, and to another one if that is not the controller (F13)."""

    def __init__(self, bootstrap: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._admin = self._loop.run_until_complete(self._opened(bootstrap))

    async def _opened(self, bootstrap: str) -> own.AdminClient:
        admin = own.AdminClient.of(bootstrap)
        admin.client.start()
        return admin

    def topic(self, name: str) -> None:
        wanted = OwnNewTopic(name=name, num_partitions=1, replication_factor=3)
        results = self._loop.run_until_complete(self._admin.create_topics([wanted]))
        if results[name].error is not Error.TOPIC_ALREADY_EXISTS:
            results[name].raise_for_error()

    def config(self, topic: str, key: str, value: str) -> None:
        resource = OwnResource(OwnResourceType.TOPIC, topic)
        results = self._loop.run_until_complete(self._admin.alter_configs({resource: [ConfigChange(key, value)]}))
        for result in results.values():
            result.raise_for_error()

    def user(self, name: str) -> None:
        self._loop.run_until_complete(self._admin.set_user(name, "s3cret"))

    def acl(self, principal: str) -> None:
        entry = acl.AccessControlEntry(principal, "*", acl.AclOperation.READ, acl.AclPermission.ALLOW)
        binding = acl.AclBinding(acl.ResourcePattern(acl.ResourceType.TOPIC, SHARED, acl.PatternType.LITERAL), entry)
        results = self._loop.run_until_complete(self._admin.create_acls([binding]))
        results[binding].raise_for_error()

    def close(self) -> None:
        self._loop.run_until_complete(self._admin.client.close())
        self._loop.close()


@dataclass
class Made:
    """The changes with a successful response."""

    topics: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    principals: list[str] = field(default_factory=list)
    value: str = ""


class SteadyAdmin:
    """One client in one thread, with one change after another. Only it sets the config `key` of `topic`."""

    def __init__(self, name: str, make: Callable[[], Changes], topic: str, key: str, first_value: int) -> None:
        self.name = name
        self.key = key
        self.made = Made()
        self.failure: BaseException | None = None
        self.rejections: list[str] = []  # errors of changes that were retried
        self._make = make
        self._topic = topic
        self._value = first_value
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"admin {name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def has_made(self, count: int) -> bool:
        """True if it has made so many changes; raises the error that stopped it."""
        if self.failure is not None:
            raise self.failure
        return len(self.made.principals) >= count

    def stop(self) -> None:
        """Ends after the change in progress; raises the last error of a change that never succeeded."""
        self._ending.set()
        self._thread.join(2 * _GIVES_UP_S)
        assert not self._thread.is_alive()
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            changes = self._make()
            number = 0
            while not self._ending.is_set():
                self._change_all(changes, number)
                number += 1
                self._ending.wait(_PACE_S)
            changes.close()
        except BaseException as error:
            self.failure = error

    def _change_all(self, changes: Changes, number: int) -> None:
        name, made = f"{self.name}-{number}", self.made
        value = str(self._value + number)
        self._until_taken(lambda: changes.config(self._topic, self.key, value))
        made.value = value
        self._until_taken(lambda: changes.acl(f"User:{name}"))
        made.principals.append(f"User:{name}")
        if number % 3 == 0:
            self._until_taken(lambda: changes.user(name))
            made.users.append(name)
        if number % 10 == 0:
            self._until_taken(lambda: changes.topic(name))
            made.topics.append(name)

    def _until_taken(self, change: Callable[[], None]) -> None:
        deadline = time.monotonic() + _GIVES_UP_S
        while True:
            try:
                change()
                return
            except (KafkaException, KafkaError, ClientFailure, TimeoutError) as error:
                self.rejections.append(str(error))
                if time.monotonic() > deadline:
                    raise
            time.sleep(_PACE_S)
