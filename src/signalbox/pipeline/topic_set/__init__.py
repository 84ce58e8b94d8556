"""Runs that read several topics, a table for each."""
