"""Machine code of kernels: how Numba makes it, and where it is kept."""
