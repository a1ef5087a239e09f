"""How expressions come into an A-Tree (SIGMOD 2021, 4.2): sharing, covers, adoption."""
