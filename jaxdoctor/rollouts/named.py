"""How a function of the user's is written."""

from __future__ import annotations

import re

NAME = re.compile(r"(.+\.py|[A-Za-z_][\w.]*):[A-Za-z_][\w.]*")
"""`file.py:function` or `package.module:function`."""
