"""The parts of ``bandwidth``, ``access`` and ``banks``: results, blocks and pictures."""
