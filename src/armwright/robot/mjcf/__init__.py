# SPDX-License-Identifier: Apache-2.0
"""MJCF, MuJoCo's own format."""
