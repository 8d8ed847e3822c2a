"""What ``gpuadvise measure`` says: one module per subject, and what they share."""
