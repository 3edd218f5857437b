# SPDX-License-Identifier: Apache-2.0
"""A run as a page that can be looked at: arm, surroundings and plots in one file, and the modules that the studio shares."""
