# SPDX-License-Identifier: Apache-2.0
"""What the motors make of a program (001, Algorithm 1): the cycle, runs of it, what would work, the monitor."""
