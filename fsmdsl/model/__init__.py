"""What a spec means: names bound, types known, hierarchy resolved. Immutable; every node knows its span.

Machines refer to one another in circles, so references are by qualified name (`hived.Cell`), looked up in `Model`.
Nothing here knows its readers.
"""

from __future__ import annotations

from fsmdsl.model.channels import *
from fsmdsl.model.effects import *
from fsmdsl.model.expressions import *
from fsmdsl.model.machine import *
from fsmdsl.model.modules import *
from fsmdsl.model.system import *
from fsmdsl.model.types import *
