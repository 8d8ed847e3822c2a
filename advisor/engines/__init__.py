"""Where work over many inputs runs: in processes of this machine, or on a cluster of Dask."""
