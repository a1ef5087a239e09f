"""`grouped`: rules that match often by unions, all others by access predicates."""
