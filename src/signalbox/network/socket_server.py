"""The socket server: every listener of the node, both planes, from bind to close.

Start has three steps, because a broker registers its real ports before it answers: `start_listening` binds (port 0
becomes known; the kernel queues newcomers), the broker registers, `enable` begins to accept. `stop` closes acceptors
and connections. Connections of the data plane live in the data loop, those of the control plane (and of a
controller's listeners) in asyncio.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator

from signalbox.common.endpoint import host_port
from signalbox.network.binding import bind_listener
from signalbox.network.connection import Connection
from signalbox.network.connection_quotas import ConnectionQuotas
from signalbox.network.control_acceptor import ControlAcceptor
from signalbox.network.data_acceptor import DataAcceptor
from signalbox.network.idle_expiry import IdleExpiry
from signalbox.network.limits_reading import read_quotas
from signalbox.network.listener import Listener
from signalbox.network.listener_table import ListenerTable
from signalbox.network.network_settings import NetworkSettings
from signalbox.network.plane import DATA, Plane
from signalbox.network.ports import NetworkPorts
from signalbox.network.reception import Reception
from signalbox.network.refusals import Refusals
from signalbox.network.request_queue import RequestQueue
from signalbox.transport.data_loop import DataLoop

log = logging.getLogger("signalbox.network")
