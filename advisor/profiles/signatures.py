"""By what a report of Nsight Compute is told from its pages."""

MAGIC = b"NVR\0"
HINT = "Record it again: ncu --set full -o report ./app"


def is_ncu_report(head: bytes) -> bool:
    """Return whether a file that begins with *head* is a report."""
    return head.startswith(MAGIC)
