"""Tempo9's program as a Python package: `tempo9 serve F.gguf`, or `python -m tempo9 serve F.gguf`."""

from importlib.metadata import version
from pathlib import Path

__version__ = version("tempo9")
PROGRAM = Path(__file__).parent / "bin/tempo9"
