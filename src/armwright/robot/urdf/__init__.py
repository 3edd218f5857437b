# SPDX-License-Identifier: Apache-2.0
"""URDF: read strictly, written back exactly."""
