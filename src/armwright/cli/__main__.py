# SPDX-License-Identifier: Apache-2.0
"""``python -m armwright.cli`` is the ``armwright`` command."""

from __future__ import annotations

import sys

from armwright.cli import main

sys.exit(main())
