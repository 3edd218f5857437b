# SPDX-License-Identifier: Apache-2.0
"""Engines: numbers of items in, the files of their chunks out, in any order, a bounded number under way."""
