"""Two sets of rules side by side: which rules differ, and which events that makes a difference for."""
