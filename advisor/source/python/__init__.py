"""What Python source says about how it uses a GPU: PyTorch, Triton, CuPy and Numba."""
