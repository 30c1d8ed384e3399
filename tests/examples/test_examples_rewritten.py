"""The examples: v1 as people write it, and v2 that compiles once they are rewritten."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import pytest

from reducer_migrate.__main__ import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SHAPES = {
    "gemv": (256, 1024),
    "quantization_scale": (64, 512),
    "smallest_k": (16, 256),
    "softmax_statistics": (64, 512),
}
LEGACY = ("replication=", "T.clear(", "T.fill(")


def test_every_example_is_here() -> None:
    assert sorted(path.stem for path in EXAMPLES.glob("*.py")) == sorted(SHAPES)


def _rewritten(folder: Path, name: str) -> Path:
    copy = Path(shutil.copy(EXAMPLES / f"{name}.py", folder))
    with pytest.raises(SystemExit) as exit:
        main(["--tilelang", "0.1.15", str(copy)])
    assert exit.value.code == 0
    return copy


@pytest.mark.parametrize("name", SHAPES)
def test_an_example_is_v1_and_is_rewritten_completely(tmp_path: Path, name: str) -> None:
    assert "replication=" in (EXAMPLES / f"{name}.py").read_text()
    text = _rewritten(tmp_path, name).read_text()
    assert not any(word in text for word in LEGACY)
    assert "T.reducer_update(" in text


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", SHAPES)
def test_the_rewritten_example_lowers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, arch: str
) -> None:
    tilelang = pytest.importorskip("tilelang", reason="tilelang is not installed")
    from reducer_rules.release import NATIVE_V2, Release

    if Release.parse(tilelang.__version__) < NATIVE_V2:
        pytest.skip(f"TileLang {tilelang.__version__} has no v2 reducers")
    tvm = tilelang.tvm
    # Without the pass that accepts v1, so that nothing but v2 can compile.
    monkeypatch.setattr(tilelang.transform, "CanonicalizeLegacyReducer", lambda: _nothing(tvm))
    kernel = _load(_rewritten(tmp_path, name))(*SHAPES[name])
    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    with target:
        source = tilelang.lower(kernel, target=target).kernel_source
    assert "__global__" in source


def _nothing(tvm: Any) -> Any:
    return tvm.transform.module_pass(lambda module, context: module, opt_level=0)


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, path.stem)
