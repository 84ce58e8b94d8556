"""`make tour`: runs the tutorials as a reader would, command by command, and compares what they print with the page.

A page is a tour as it stands; tools/tour/page.py says which blocks of it are run. Imports nothing but Python's library,
so that the Python of any environment in which Signalbox is installed can run it.
"""
