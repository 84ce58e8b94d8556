"""Outbound: connections and requests from this process to brokers, itself included.

Bottom up: `connection` (asyncio) and `replica_channel` (data loop) share one `handshake`, identity included (KIP-1242).
Brokers use `controller_channel` (to the controller), `broker_channel` and `peer_channels` (from it).
Tools use `cluster_client` and, on top of it, `admin`, `producer`, `consumer`; `rebootstrap` decides, `metadata_updater`
executes. `routes` checks which node responds at an address. Not a general consumer: applications use Kafka's clients.
"""
