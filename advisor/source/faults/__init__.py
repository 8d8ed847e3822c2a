"""The faults that source code shows: one function per rule, in rooms by what they look at."""
