"""``advise`` and ``rules``: evidence gathered, rules run, findings in words."""
