"""The BE-Tree (TODS 2013): two-phase space cutting that adjusts itself."""
