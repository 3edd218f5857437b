# SPDX-License-Identifier: Apache-2.0
"""Engines: chunks in, tables out, in any order, a bounded number under way."""
