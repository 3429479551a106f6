"""Compiles text in LLVM's language to machine code: well, or in a hurry.

To compile well takes long, and is done in a process of its own, which another can end at any time. That one reads the
text from standard input and writes the object to standard output. Imports nothing of this package, so that it is there
at once.
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
    """An object file for this processor. In a hurry it takes a twentieth of the time, and the code takes twice as
    long."""
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
    """Those that pay for themselves at once: variables into registers, then fewer jumps."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    return passes


if __name__ == "__main__":
    main()
