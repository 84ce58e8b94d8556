"""The context of a request: what a handler may know about its connection, principal and listener.

One context lives as long as its connection and is shared by its requests. A request inside an Envelope gets its own
context (`forwarded`) with the original principal and address; `forwarding_principal` is the forwarding broker's (F8).
"""

from __future__ import annotations

from signalbox.common.endpoint import SecurityProtocol
from signalbox.common.ids import ForwardingId
from signalbox.security.principal import ANONYMOUS, KafkaPrincipal


class RequestContext:
    """`privileged`: broker-to-broker requests are accepted here (F4). `inter_broker`: the listener on which brokers
    authenticate (F15). `controller_plane`: a listener of dedicated controllers. `forwarding_id`: the number of a
    forwarded request, when the forwarding broker sends one."""

    __slots__ = (
        "client_address", "client_address_bytes", "client_software_name",
        "client_software_version", "connection_id", "control_plane", "controller_plane", "forwarding_id",
        "forwarding_principal", "inter_broker", "listener_name", "principal", "privileged", "request_type",
        "security_protocol",
    )  # fmt: skip

    def __init__(
        self,
        connection_id: str,
        listener_name: str,
        security_protocol: SecurityProtocol,
        client_address: str,
        client_address_bytes: bytes,
        *,
        principal: KafkaPrincipal = ANONYMOUS,
        privileged: bool = False,
        control_plane: bool = False,
        controller_plane: bool = False,
        inter_broker: bool = False,
    ) -> None:
        self.connection_id = connection_id
        self.listener_name = listener_name
        self.security_protocol = security_protocol
        self.client_address = client_address
        self.client_address_bytes = client_address_bytes
        self.principal = principal
        self.privileged = privileged
        self.control_plane = control_plane
        self.controller_plane = controller_plane
        self.inter_broker = inter_broker
        self.client_software_name = ""
        self.client_software_version = ""
        self.forwarding_principal: KafkaPrincipal | None = None
        self.request_type = -1
        self.forwarding_id: ForwardingId | None = None

    @property
    def plane(self) -> str:
        """The name of its listener's plane."""
        if self.controller_plane:
            return "controller"
        return "control" if self.control_plane else "data"

    @property
    def client_software(self) -> str:
        """`name/version`, as the client named itself in ApiVersions 3 or later; "" if it did not."""
        return f"{self.client_software_name}/{self.client_software_version}" if self.client_software_name else ""

    def forwarded(
        self, principal: KafkaPrincipal, client_address: str, client_address_bytes: bytes, request_type: int
    ) -> RequestContext:
        """The context of a request inside an Envelope on this connection. `request_type` is its API key; it is -1 in
        a connection's own context, which is shared by requests of all APIs."""
        inner = RequestContext(
            self.connection_id,
            self.listener_name,
            self.security_protocol,
            client_address,
            client_address_bytes,
            principal=principal,
            privileged=self.privileged,
            control_plane=self.control_plane,
            controller_plane=self.controller_plane,
            inter_broker=self.inter_broker,
        )
        inner.forwarding_principal = self.principal
        inner.request_type = request_type
        return inner
