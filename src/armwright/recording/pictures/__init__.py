# SPDX-License-Identifier: Apache-2.0
"""Recordings as pictures: plots, films and pages."""
