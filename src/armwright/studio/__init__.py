# SPDX-License-Identifier: Apache-2.0
"""The studio: a page in the browser to look at an arm, pull it, let it explore and look at what happened."""
