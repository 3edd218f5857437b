# SPDX-License-Identifier: Apache-2.0
"""Doubt: what an arm's own model may be wrong in, estimated beside the observer, before the world is blamed."""
