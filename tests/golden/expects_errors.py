import pytest
import tilelang.language as T


def test_mixed_spellings_are_refused():
    with pytest.raises(ValueError, match="mixed"):

        @T.prim_func
        def main(X: T.Tensor((64,), "float32"), out: T.Tensor((1,), "float32")):
            with T.Kernel(1, threads=64):
                acc = T.alloc_reducer((1,), "float32", replication="all")
                T.clear(acc)
                for j in T.Parallel(64):
                    T.reducer_update(acc[0], X[j])
                T.finalize_reducer(acc)
                out[0] = acc[0]
