"""Which engine suits the rules and the events of an index: what `engine="auto"` knows."""
