"""Write the page of every shipped pack to docs/packs/; with --check only say which are stale."""

from __future__ import annotations

import sys
from pathlib import Path

from qrewrite.loading import load_pack, shipped_packs
from qrewrite.pages import pack_page

PAGES = Path(__file__).parents[1] / "docs" / "packs"


def main() -> int:
    pages = {PAGES / f"{name}.md": pack_page(load_pack(name)) for name in shipped_packs()}
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    extra = [path for path in PAGES.glob("*.md") if path not in pages]
    if "--check" in sys.argv:
        for path in [*stale, *extra]:
            print(f"{path} is stale: run .ci/pages.py", file=sys.stderr)
        return 1 if stale or extra else 0
    for path in stale:
        path.write_text(pages[path])
    for path in extra:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
