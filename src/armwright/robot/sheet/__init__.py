# SPDX-License-Identifier: Apache-2.0
"""Robot sheets: TOML files with a source for every number."""
