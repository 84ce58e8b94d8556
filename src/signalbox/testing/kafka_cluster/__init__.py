"""A cluster for tests of clients: brokers in this process or in processes of their own, security in one line, every
address behind the switchboard."""
