"""``gpuadvise advise``: rules run over gathered evidence, findings in words."""
