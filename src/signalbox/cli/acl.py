"""`signalbox acl`: lists, creates and deletes ACLs.

signalbox acl create --topic flights --prefixed --principal User:alice --operation READ --operation DESCRIBE
signalbox acl list --group readers
signalbox acl delete --topic flights --principal User:alice
"""

from __future__ import annotations

from typing import Annotated

import typer

from signalbox.cli.connect import ask_with, fail, report, say, show
from signalbox.cli.shell.listing import Listing
from signalbox.client.admin_apis.acl_admin import AclAdmin, text_of
from signalbox.security.acl import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from signalbox.security.acl_filter import AclFilter

_ONE_OF = "--topic, --group, --transactional-id, --user-principal, --delegation-token or --cluster"

app = typer.Typer(help="Access control: list, create, delete.", no_args_is_help=True)

Topic = Annotated[str | None, typer.Option(help="Topic name; * matches all topics.")]
Group = Annotated[str | None, typer.Option(help="Consumer group id; * matches all groups.")]
TransactionalId = Annotated[str | None, typer.Option(help="Transactional id; * matches all.")]
User = Annotated[
    str | None,
    typer.Option("--user-principal", help="User resource (delegation tokens for other users), for example User:alice."),
]
Token = Annotated[str | None, typer.Option("--delegation-token", help="Delegation token id; * matches all.")]
Cluster = Annotated[bool, typer.Option("--cluster", help="The cluster resource.")]
Prefixed = Annotated[
    bool, typer.Option("--prefixed", help="PREFIXED pattern: the name matches all names that begin with it.")
]
Principal = Annotated[
    str | None, typer.Option(help="Type:name, for example User:alice; User:* matches all principals.")
]
Operations = Annotated[list[str] | None, typer.Option("--operation", help="READ, WRITE, ALL ...; can be repeated.")]


@app.command("list")
def list_acls(
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    user_principal: User = None,
    delegation_token: Token = None,
    cluster: Cluster = False,
    principal: Principal = None,
) -> None:
    """List all ACLs, or those that match a resource."""
    named = _named(topic, group, transactional_id, user_principal, delegation_token, cluster)
    acl_filter = AclFilter(principal=principal)
    if named is not None:
        acl_filter = AclFilter(named[0], named[1], PatternType.MATCH, principal)
    table = Listing("resource", "name", "pattern", "principal", "permission", "operation", "host")
    for binding in ask_with(AclAdmin, lambda admin: admin.describe_acls(acl_filter)):
        pattern, entry = binding.pattern, binding.entry
        table.add(
            pattern.resource_type.name,
            pattern.name,
            pattern.pattern_type.name,
            entry.principal,
            entry.permission.name,
            entry.operation.name,
            entry.host,
        )
    show(table)


@app.command("create")
def create(
    principal: Annotated[str, typer.Option(help="Type:name, for example User:alice; User:* matches all principals.")],
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    user_principal: User = None,
    delegation_token: Token = None,
    cluster: Cluster = False,
    prefixed: Prefixed = False,
    operation: Operations = None,
    host: Annotated[str, typer.Option(help="Client address; * matches all hosts.")] = "*",
    deny: Annotated[bool, typer.Option("--deny", help="Create a DENY entry (default: ALLOW).")] = False,
) -> None:
    """Create ACLs: allow (or deny) operations on a resource."""
    named = _named(topic, group, transactional_id, user_principal, delegation_token, cluster)
    if named is None or not operation:
        fail(f"a resource ({_ONE_OF}) and --operation are required", code=2)
    pattern = ResourcePattern(named[0], named[1], PatternType.PREFIXED if prefixed else PatternType.LITERAL)
    permission = AclPermission.DENY if deny else AclPermission.ALLOW
    bindings = [
        AclBinding(pattern, AccessControlEntry(principal, host, operation_code, permission))
        for operation_code in _operations(operation)
    ]
    results = ask_with(AclAdmin, lambda admin: admin.create_acls(bindings))
    report({result.name: result for result in results.values()}, "created")


@app.command("delete")
def delete(
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    user_principal: User = None,
    delegation_token: Token = None,
    cluster: Cluster = False,
    prefixed: Prefixed = False,
    principal: Principal = None,
    operation: Operations = None,
    host: Annotated[str | None, typer.Option(help="Only entries for this host.")] = None,
) -> None:
    """Delete the ACLs of exactly this pattern, optionally of one principal only."""
    named = _named(topic, group, transactional_id, user_principal, delegation_token, cluster)
    if named is None:
        fail(f"a resource is required: {_ONE_OF}", code=2)
    pattern_type = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    acl_filters = [
        AclFilter(named[0], named[1], pattern_type, principal, host, operation_code)
        for operation_code in (_operations(operation) if operation else (AclOperation.ANY,))
    ]
    for binding in ask_with(AclAdmin, lambda admin: admin.delete_acls(acl_filters)):
        say(f"{text_of(binding)}: deleted")


def _named(
    topic: str | None,
    group: str | None,
    transactional_id: str | None,
    user_principal: str | None,
    delegation_token: str | None,
    cluster: bool,
) -> tuple[ResourceType, str] | None:
    named_resources = [
        (resource_type, name)
        for resource_type, name in (
            (ResourceType.TOPIC, topic),
            (ResourceType.GROUP, group),
            (ResourceType.TRANSACTIONAL_ID, transactional_id),
            (ResourceType.USER, user_principal),
            (ResourceType.DELEGATION_TOKEN, delegation_token),
            (ResourceType.CLUSTER, CLUSTER_NAME if cluster else None),
        )
        if name is not None
    ]
    if len(named_resources) > 1:
        fail(f"only one of {_ONE_OF} is allowed", code=2)
    return named_resources[0] if named_resources else None


def _operations(texts: list[str]) -> list[AclOperation]:
    operations_by_name = {
        acl_operation.name: acl_operation for acl_operation in AclOperation if acl_operation >= AclOperation.ALL
    }
    selected = []
    for text in texts:
        operation = operations_by_name.get(text.upper().replace("-", "_"))
        if operation is None:
            fail(f"{text!r} is not an operation: expected one of {', '.join(operations_by_name)}", code=2)
        selected.append(operation)
    return selected
