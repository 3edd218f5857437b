# SPDX-License-Identifier: Apache-2.0
"""A run as a page that can be played: arm, surroundings and plots in one file; its modules serve all our pages."""
