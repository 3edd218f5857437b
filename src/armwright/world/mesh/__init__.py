# SPDX-License-Identifier: Apache-2.0
"""Triangle meshes: files, and distances from them."""
