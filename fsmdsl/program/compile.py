"""Compiles text in LLVM's language to machine code, optimized or not.

Optimizing takes long, so it runs in a process of its own, which the caller can end at any time. That process reads the
text from standard input and writes the object to standard output. This module imports nothing of the package, so that
the process starts at once.
"""

import sys
from typing import Any

HURRY = "--hurry"

OPTIMISED = 2
"""Optimization level of LLVM. Level 3 takes a tenth longer, and the code is no faster."""


def main() -> None:
    """Compile one text."""
    sys.stdout.buffer.write(compiled(sys.stdin.buffer.read().decode("utf-8"), hurry=HURRY in sys.argv))


def compiled(text: str, *, hurry: bool) -> bytes:
    """An object file for this processor. `hurry`: without optimization, which takes a twentieth of the time; the code
    runs half as fast."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    level = 0 if hurry else OPTIMISED
    target: Any = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=level, jit=True)
    module = llvm.parse_assembly(text)
    module.verify()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=level))
    passes = _few_passes(llvm) if hurry else builder.getModulePassManager()
    passes.run(module, builder)
    code: bytes = machine.emit_object(module)
    return code


def _few_passes(llvm: Any) -> Any:
    """The passes that save more time than they take: variables into registers, then fewer jumps."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    return passes


if __name__ == "__main__":
    main()
