"""Rules on their way in: read from any source, prepared, gathered into batches, reported."""
