"""Rules to constraints: binding predicates, and conjunctions and forms as integers."""
