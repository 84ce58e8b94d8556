"""Who is asking, and through which door: what a handler may know about the connection behind a request.

One context lives as long as its connection and is shared by its requests; an Envelope's inner request gets a context
of its own (`forwarded`), in which the original principal and address stand and the hop's principal is kept beside (F8).
"""

from __future__ import annotations

from signalbox.common.endpoint import SecurityProtocol
from signalbox.common.forwarding_id import ForwardingId
from signalbox.security.principal import ANONYMOUS, KafkaPrincipal


class RequestContext:
    """`privileged`: broker-to-broker requests are taken here (F4). `inter_broker`: the listener that brokers
    authenticate on (F15). `controller_plane`: a listener of dedicated controllers. `forwarding_id`: which forwarded
    request it is, where the forwarding broker says so."""

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
        """The plane of its listener, by name."""
        if self.controller_plane:
            return "controller"
        return "control" if self.control_plane else "data"

    def forwarded(
        self, principal: KafkaPrincipal, client_address: str, client_address_bytes: bytes, request_type: int
    ) -> RequestContext:
        """The context of a request that came inside an Envelope over this connection. `request_type` is its API key; a
        connection's own context serves requests of all kinds and knows none."""
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
