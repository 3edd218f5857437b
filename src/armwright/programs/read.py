# SPDX-License-Identifier: Apache-2.0
"""From a file or a text to a `Program`: which language it is, and the reader for it."""
