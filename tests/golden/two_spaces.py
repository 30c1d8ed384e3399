import tilelang.language as T


def build(n):
  @T.prim_func
  def main(X: T.Tensor((n,), "float32"), out: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=64):
      acc = T.alloc_reducer((1,), "float32", replication="all")  # type: ignore[attr-defined]
      T.clear(acc)  # noqa: F821
      for j in T.Parallel(n):
        acc[0] += X[j]  # type: ignore
      T.finalize_reducer(acc)  # pyright: ignore[reportCallIssue]
      out[0] = acc[0]  # noqa

  return main
