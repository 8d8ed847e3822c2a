"""Host and device: links, copies, and how far they hide behind kernels."""
