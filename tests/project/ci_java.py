"""The script `.ci/java.py` as a module: no import statement can name a folder with a dot."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "java.py"


def _load() -> ModuleType:
    spec = spec_from_file_location("ci_java", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["ci_java"] = module  # dataclasses look their own module up
    spec.loader.exec_module(module)
    return module


java = _load()
