# SPDX-License-Identifier: Apache-2.0
"""Exploration with the whole arm, planned in joint space among what it has felt."""
