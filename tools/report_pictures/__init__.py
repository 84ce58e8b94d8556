"""`make report-pictures`: the project's HTML pages and drawings in Chromium; no text may leave its box."""
