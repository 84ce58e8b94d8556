"""The transactional producer: its requests to coordinators, its producer ids, and its interface."""
