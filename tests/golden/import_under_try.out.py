try:
    import tilelang
    import tilelang.language as T
except ImportError:
    tilelang = None
    T = None

if T is not None:

    def build(rows, n):
        @T.prim_func
        def main(X: T.Tensor((rows, n), "float32"), out: T.Tensor((rows,), "float32")):
            with T.Kernel(1, threads=64):
                R = T.alloc_reducer([rows], T.float32, op="min")
                R_result = T.alloc_fragment([rows], T.float32)
                T.reducer_init(R)
                for i, j in T.Parallel(rows, n):
                    T.reducer_update(R[i], X[i, j])
                T.finalize_reducer(R, R_result)
                T.copy(R_result, out)

        return main
