"""Every rule of the product, in the order of reports: the only list."""

from __future__ import annotations

from gpuadvise.rules.guide import unprofiled_workload

RULES = (unprofiled_workload.RULE,)
