"""A script of the folder `.ci` as a module: no import statement can name a folder with a dot."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[2] / ".ci"


def load(name: str) -> ModuleType:
    spec = spec_from_file_location(f"ci_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their own module up
    sys.path.insert(0, str(FOLDER))  # they import each other
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(FOLDER))
    return module
