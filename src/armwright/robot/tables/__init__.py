# SPDX-License-Identifier: Apache-2.0
"""Serial chains as tables: Denavit–Hartenberg, modified Denavit–Hartenberg, screws."""
