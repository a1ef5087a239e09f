"""The A-Tree (SIGMOD 2021): arbitrary Boolean expressions as one shared tree with many roots."""
