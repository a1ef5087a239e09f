"""`index.find`: the rules that stand in a relation to an expression."""
