# SPDX-License-Identifier: Apache-2.0
"""Arms, surroundings and runs for the viewers that people have: Foxglove and Rerun."""
