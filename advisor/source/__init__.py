"""What CUDA and PyTorch source files say: facts, and the faults that can be seen in them."""
