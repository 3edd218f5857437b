# SPDX-License-Identifier: Apache-2.0
"""Kinds of campaigns, one file each."""
