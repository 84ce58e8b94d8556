"""Nodes in responses: their addresses and versions; misroutes."""
