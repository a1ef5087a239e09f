"""PSTBloom and PSTHash (VLDB 2018, sections 5 and 6): access predicates lead to candidates."""
