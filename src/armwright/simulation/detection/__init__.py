# SPDX-License-Identifier: Apache-2.0
"""How fast and how reliably contacts are noticed: thousands of simulated runs, with and without them."""
