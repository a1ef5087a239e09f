"""The experiments of VLDB 2009."""
