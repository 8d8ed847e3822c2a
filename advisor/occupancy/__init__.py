"""How many blocks of a kernel one SM can hold, why, and what would change it."""
