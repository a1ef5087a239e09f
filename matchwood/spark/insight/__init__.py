"""Second opinions and reasons: verify, explain, why not, diff."""
