"""Run the command line as ``python -m gpuadvise``."""

from gpuadvise.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
