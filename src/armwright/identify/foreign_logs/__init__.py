# SPDX-License-Identifier: Apache-2.0
"""Logs that other programs wrote: tables of any dialect, columns understood by name and by number, said in words."""
