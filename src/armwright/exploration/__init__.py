# SPDX-License-Identifier: Apache-2.0
"""An arm through surroundings that nobody told it about: go, bump, mark, plan around, arrive."""
