"""What several engines use: the store of conjunctions, records, postings, access, verification, scoring."""
