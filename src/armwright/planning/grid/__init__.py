# SPDX-License-Identifier: Apache-2.0
"""Planning on a grid of cells: maps, the Hopfield network, graph search."""
