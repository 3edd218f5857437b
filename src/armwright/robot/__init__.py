# SPDX-License-Identifier: Apache-2.0
"""What an arm is: its description, readers and writers, checks, and kernels compiled for it."""
