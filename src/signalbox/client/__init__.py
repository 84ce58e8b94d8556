"""Outbound: everything this house says to a broker, its own or any other.

Bottom up: `connection` (asyncio) and `replica_channel` (data loop) share one `handshake`, identity included (KIP-1242).
Brokers use `controller_channel` (to the controller), `broker_channel` and `peer_channels` (from it), `death_probe`.
Tools use `cluster_client` and, on top of it, `admin`, `producer`, `consumer`; `rebootstrap` decides, `cluster_keeper`
carries out. `routes` asks who really answers at an address. Not a general consumer: real clients exist.
"""
