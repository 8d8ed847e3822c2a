"""Assertions about kernels, for test suites."""

from gpuadvise.api.testing import assert_no_findings, assert_no_spills, assert_occupancy

__all__ = ["assert_no_findings", "assert_no_spills", "assert_occupancy"]
