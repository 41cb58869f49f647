"""All mutants of a file, made by mutmut's own operators, each as the whole text of the mutated file; runs nothing.

mutmut's runner swaps functions by a trampoline, so it leaves out whatever is not a plain function: the table of the
head's moves, defaults of dataclasses, properties. Here a mutant is a file, so those are mutated too.
"""

import difflib
import hashlib
from dataclasses import dataclass
from pathlib import Path

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, CodeSpan, MetadataWrapper, ParentNodeProvider
from mutmut.mutation.file_mutation import Mutation, MutationVisitor
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: `file` from the root, `where` as `Class.function`, `diff` its lines out and in, `text` all of it."""

    file: str
    where: str
    diff: str
    text: str

    @property
    def key(self) -> str:
        """What it is called over moves of lines: the same for the same change of the same function."""
        told = f"{self.file}\n{self.where}\n{self.diff}"
        return hashlib.sha256(told.encode()).hexdigest()[:12]


class _Everywhere(MutationVisitor):
    """mutmut's visitor, which goes into properties as well."""

    def _skip_node_and_children(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.FunctionDef) and [_plain(one.decorator) for one in node.decorators] == ["property"]:
            return False
        return super()._skip_node_and_children(node)


class Mutable:
    """One file and what can be changed in it: `len()` mutants, each made when it is asked for."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.source = (ROOT / file).read_text("utf-8")
        wrapper = MetadataWrapper(cst.parse_module(self.source))
        visitor = _Everywhere(mutation_operators, IgnoredCode(set(), set(), set()))
        self._module = wrapper.visit(visitor)
        self._spans = wrapper.resolve(ByteSpanPositionProvider)
        self._parents = wrapper.resolve(ParentNodeProvider)
        self._mutations = visitor.mutations

    def __len__(self) -> int:
        return len(self._mutations)

    def mutant(self, number: int) -> Mutant | None:
        """The one with this number in mutmut's order, None where it would be no Python."""
        mutation = self._mutations[number]
        text = _mutated(self._module, self.source.encode(), self._spans.get(mutation.original_node), mutation)
        if not _compiles(text):
            return None
        return Mutant(self.file, self.where(number), _diff(self.source, text), text)

    def where(self, number: int) -> str:
        """The classes and functions around this mutant, outermost first; "" for the module itself."""
        node: cst.CSTNode | None = self._mutations[number].original_node
        names: list[str] = []
        while node is not None:
            if isinstance(node, cst.FunctionDef | cst.ClassDef):
                names.append(node.name.value)
            node = self._parents.get(node)
        return ".".join(reversed(names))


def _mutated(module: cst.Module, source: bytes, span: CodeSpan | None, mutation: Mutation) -> str:
    """The whole text: put together around the change, since replacing a node visits all the others."""
    if span is not None:
        old = module.code_for_node(mutation.original_node).encode()
        before = old.find(source[span.start : span.start + span.length])  # parentheses are no part of a span
        begin = span.start - before
        if before >= 0 and source[begin : begin + len(old)] == old:
            new = module.code_for_node(mutation.mutated_node).encode()
            return (source[:begin] + new + source[begin + len(old) :]).decode()
    changed = module.deep_replace(mutation.original_node, mutation.mutated_node)
    assert isinstance(changed, cst.Module)
    return changed.code


def _compiles(text: str) -> bool:
    try:
        compile(text, "<mutant>", "exec")
    except SyntaxError:
        return False
    return True


def _diff(source: str, text: str) -> str:
    """The lines that go ("- ") and come ("+ "), without their indentation."""
    lines = list(difflib.unified_diff(source.splitlines(), text.splitlines(), n=0, lineterm=""))[2:]
    return "\n".join(f"{line[0]} {line[1:].strip()}" for line in lines if not line.startswith("@@"))


def _plain(node: cst.BaseExpression) -> str:
    return node.value if isinstance(node, cst.Name) else ""
