"""Probes of addresses: which node responds there."""
