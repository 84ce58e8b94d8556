"""The broker as a service: router, routes, one handler per API, forwarding to the controller, audit, life cycle."""
