# SPDX-License-Identifier: Apache-2.0
"""Figures, film and report of an exploration."""
