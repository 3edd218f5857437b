# SPDX-License-Identifier: Apache-2.0
"""Isolation of a contact: which link was touched, where, and how sure that is."""
