"""Below the gate (inter.broker.protocol.version 3.4, SPEC F17): brokers that forward nothing and make direct metadata
writes (decision 0021). Everything that only a broker below the gate needs, and how the controller follows its writes.

- `broker_below_gate.py`: what the request handlers of a broker below the gate use instead of the controller
- `direct_metadata_writer.py`: a change that a broker stores itself, by the same decisions as the controller's
- `direct_changes.py`: the table of these changes, and what each decision reads
- `metadata_change_log.py`: the entry that orders the commits of all writers, and these commits
- `shared_metadata.py`, `external_update.py`: how the active controller reads the writes of brokers and applies them

Outside of this package, because of the layers:
- `common/inter_broker_protocol.py`: the gate
- `LocalAdminRequests` in `broker/forwarding/forwarding.py`: the router's counterpart of the forwarder
- `wiring/rolling_upgrade.py`: builds one side of the gate or the other
- `configuration/`: below the gate a principal builder need not be a serde; brokers on different sides are reported

The controller calls this package from its event batch, replay, loading, store events and runtime; no other module may
(`pyproject.toml`, contract `direct-writes`).
"""
