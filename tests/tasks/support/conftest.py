"""Makes `scripted_models` importable here and, by the inherited path, in Dask workers."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
