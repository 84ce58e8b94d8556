"""The context of a node: what is read from the store before the first listener is built."""

from __future__ import annotations

import asyncio

from signalbox.configuration.configuration import NodeConfig
from tests.configuration.settings import config_of, controller_config_of
from tests.wiring.contexts import context_of


def tokens_in(config: NodeConfig) -> tuple[bool, bool]:
    """(has a token secret, follows the tokens)."""

    async def scenario() -> tuple[bool, bool]:
        async with context_of(config) as context:
            assert context.metrics is context.telemetry.metrics
            return context.token_secret is not None, context.tokens is not None

    return asyncio.run(scenario())


def test_delegation_tokens_are_read_by_brokers_with_a_secret() -> None:
    assert tokens_in(config_of()) == (False, False)
    assert tokens_in(config_of(delegation__token__secret__key="s")) == (True, True)
    assert tokens_in(controller_config_of(delegation__token__secret__key="s")) == (True, False)


def test_acls_are_read_for_the_built_in_authorizer() -> None:
    async def has_acls(config: NodeConfig) -> bool:
        async with context_of(config) as context:
            return context.acls is not None

    name = "kafka.security.authorizer.AclAuthorizer"
    assert asyncio.run(has_acls(config_of(authorizer__class__name=name)))
    assert not asyncio.run(has_acls(config_of()))
