# SPDX-License-Identifier: Apache-2.0
"""What the languages of robot programs share before anything runs: words with places, one tree, one kind of parser.

`scanner` cuts a text into words, `program_tree` has the nodes, `tree_parser` what parsers of the languages share.
"""
