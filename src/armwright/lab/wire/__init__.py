# SPDX-License-Identifier: Apache-2.0
"""Protocols of the lab's devices, one file each: bytes in, messages out.

Sizes are capped; nothing that is received is executed.
"""
