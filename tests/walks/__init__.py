"""The walks of docs/architecture.md: which files a request passes. `.venv/bin/python -m tests.walks` prints them."""
