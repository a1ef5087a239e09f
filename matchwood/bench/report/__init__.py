"""Results as tables, charts and one page."""
