"""The first file that a worker's interpreter runs: it makes `jaxdoctor` importable, and nothing else of ours.

`python -P bootstrap.py FUNCTION [FOLDER]`. The interpreter may be that of the environment in which the user
trains, where jaxdoctor is not installed; every other package comes from there. With FOLDER, modules are
first looked for in it, as `python -m` does.
"""

import importlib.machinery
import importlib.util
import os
import sys

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 (pathlib is 5 ms)


class OwnPackage:
    """A finder that knows the one name `jaxdoctor`."""

    @staticmethod
    def find_spec(
        name: str, path: object = None, target: object = None
    ) -> "importlib.machinery.ModuleSpec | None":
        """Where jaxdoctor stands; None for every other name."""
        del path, target
        if name != "jaxdoctor":
            return None
        return importlib.util.spec_from_file_location(
            name,
            f"{PACKAGE}/__init__.py",
            submodule_search_locations=[PACKAGE],
        )


def main() -> None:
    """Serves one task."""
    # Before the others: another jaxdoctor in that environment would not understand this one's messages.
    sys.meta_path.insert(0, OwnPackage)
    function, *folder = sys.argv[1:]
    sys.path[:0] = folder
    from jaxdoctor.workers.serve import serve  # noqa: PLC0415 (it can be found only now)

    serve(function)


if __name__ == "__main__":
    main()
