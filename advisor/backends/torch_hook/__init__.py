"""A folder for PYTHONPATH: its ``sitecustomize`` records a few steps of a program that uses PyTorch."""
