# SPDX-License-Identifier: Apache-2.0
"""Files and messages of strangers as checked text: quantities with units and sources, refusals with their place."""
