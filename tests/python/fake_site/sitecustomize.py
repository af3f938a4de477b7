"""Puts the fake engine in place of the compiled one in processes that tests start."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import fake_engine
import fake_plots

sys.modules["leafspine._engine"] = fake_engine  # type: ignore[assignment]
if os.environ.get("LEAFSPINE_FAKE_PLOTS"):
    sys.modules["leafspine.plots"] = fake_plots  # type: ignore[assignment]
