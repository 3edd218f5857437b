# SPDX-License-Identifier: Apache-2.0
"""Planning with the whole arm in joint space: clearance and sampling planners."""
