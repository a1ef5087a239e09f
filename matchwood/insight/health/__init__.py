"""`index.stats()`: what an index holds, and what keeps it from being fast."""
