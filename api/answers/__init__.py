"""The answers of the commands, declared: JSON Schema, ``--get list`` and the library's records follow."""
