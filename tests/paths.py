"""Where the repository and the fixtures stand, from wherever a test does."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "tests" / "fixtures"
