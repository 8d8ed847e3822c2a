"""Run the command line as ``python -m gpuadvise``."""

from gpuadvise.cli.main import run

if __name__ == "__main__":
    raise SystemExit(run())
