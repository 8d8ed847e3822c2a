"""Kernel names without what changes with every build.

Kernels of anonymous namespaces, and static ones under -rdc, carry a hash of their source's
content in their names: any edit of the file renames them. Older compilers put the number of a
temporary file there. Seen with nvcc 11.8 to 13.5.
"""

from __future__ import annotations

import re

_HASHED = re.compile(r"_[0-9a-f]{8}(_\d{1,3}_\w{1,200}?_)[0-9a-f]{8}")
_TEMPORARY = re.compile(r"tmpxft_[0-9a-f]{8}_[0-9a-f]{8}")


def stable_name(name: str) -> str:
    """Return *name* as it would be in any other build of the same source."""
    if "_GLOBAL__N__" not in name and "__nv_static_" not in name and "_INTERNAL_" not in name:
        return name
    return _HASHED.sub(r"_#\1#", _TEMPORARY.sub("tmpxft", name))
