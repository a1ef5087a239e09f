"""The K-index (VLDB 2009): inverted lists over conjunctions (DNF) and clauses (CNF), with ranking."""
