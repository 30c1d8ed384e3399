"""The language surface: what `T.alloc_reducer` and its companions do while a kernel is traced.

Every function writes one marker with the file and line of the call; meaning is given later, by
the passes, so that the surface behaves the same on every release.
"""
