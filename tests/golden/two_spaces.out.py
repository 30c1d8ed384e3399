import tilelang.language as T


def build(n):
  @T.prim_func
  def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=64):
      acc = T.alloc_reducer((1,), "float32")  # type: ignore[attr-defined]
      acc_result = T.alloc_fragment((1,), "float32")
      T.reducer_init(acc)  # noqa: F821
      for j in T.Parallel(n):
        T.reducer_update(acc[0], X[j])  # type: ignore
      T.finalize_reducer(acc, acc_result)  # pyright: ignore[reportCallIssue]
      out[0] = acc_result[0]  # noqa

  return main
