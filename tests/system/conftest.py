"""Makes the scenes of this folder importable: the tests are collected without packages (importmode=importlib)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
