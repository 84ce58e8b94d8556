"""Alert rules and a dashboard for the metrics page, rendered from the table of metrics into `deploy/monitoring/`."""
