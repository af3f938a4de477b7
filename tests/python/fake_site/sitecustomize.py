"""Puts the fake engine in place of the compiled one in processes that tests start."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import fake_engine

sys.modules["leafspine._engine"] = fake_engine  # type: ignore[assignment]
