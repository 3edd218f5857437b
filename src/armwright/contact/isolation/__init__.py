# SPDX-License-Identifier: Apache-2.0
"""Which link was touched, where, and how sure that is."""
