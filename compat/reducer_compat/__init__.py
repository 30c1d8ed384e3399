"""v2 reducers for every TileLang release, and the interpreter that checks them.

Nothing heavy is imported here: `reducer_compat.simt` stands alone.
"""
