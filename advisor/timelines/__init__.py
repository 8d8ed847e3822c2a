"""Timelines of GPU work recorded by PyTorch, Nsight Systems and JAX."""
