"""The passes, in the order of the pipeline; each is a function from a `PrimFunc` to another.

collect   reads the markers: one `Reducer` each, with its sites and its timeline
check     runs the rules over the timelines
plan      participants, and how each reducer keeps its partials
carry     markers become code; what needs a loop layout stays a marker
    ... TileLang: warp specialization, pipelining, layout inference ...
guard     what stayed runs in one replica only
    ... TileLang: LowerTileOp ...
emit      what stayed becomes code
prove     counts contributions
residue   nothing of ours may survive
"""
