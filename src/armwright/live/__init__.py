# SPDX-License-Identifier: Apache-2.0
"""A robot on the wire: felt, watched and driven. Nothing here is a safety function."""
