"""The synchronous face of the client: one thread with an event loop, and classes whose methods wait for it.

The classes add nothing of their own: what a method does, and its errors, are documented at the class that it calls.
"""
