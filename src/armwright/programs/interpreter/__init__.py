# SPDX-License-Identifier: Apache-2.0
"""Programs as trees, and one interpreter that runs them: reading (syntax) and running (unrolling into moves) are apart.

The nodes are in `armwright.syntax`. `program_values` has the values,
`program_interpreter` scopes, calls and flow, `reading_notes` what is said about a reading.
"""
