# SPDX-License-Identifier: Apache-2.0
"""Exploration with the tool on a map of cells."""
