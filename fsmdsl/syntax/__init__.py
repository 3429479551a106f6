"""What the author wrote: nodes, each with its span. Names are not bound and types not known yet."""

from __future__ import annotations

from fsmdsl.syntax.effects import *
from fsmdsl.syntax.expressions import *
from fsmdsl.syntax.machines import *
from fsmdsl.syntax.modules import *
from fsmdsl.syntax.systems import *
