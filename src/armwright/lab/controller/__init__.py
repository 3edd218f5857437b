# SPDX-License-Identifier: Apache-2.0
"""The virtual controller: its states, its motions, its commands, what it publishes."""
