"""`make docs`: README, CONTRIBUTING and docs/ as a site with search, built by Sphinx; a link without target fails.

Runs in an environment of its own (requirements/docs.txt) and imports nothing but Python's library.
"""
