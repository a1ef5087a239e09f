"""Events that come one after the other: an event is read in Python, and its numbers are located by one kernel."""
