"""From observations to findings: pure functions, no I/O."""
