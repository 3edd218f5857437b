# SPDX-License-Identifier: Apache-2.0
"""The test stand of 004: a virtual controller with a body behind it, a recorder that loses nothing, a replay."""
