"""From a class to a FlatModel: instantiate, collect connections, translate everything."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pliant.errors import ModelError
from pliant.frontend.flat.build import FlatBuilder
from pliant.frontend.flat.model import Experiment, FlatAlgorithm, FlatModel, SourceFile
from pliant.frontend.flat.shapes import TypeMismatch
from pliant.frontend.modelica.connections.collect import Collector
from pliant.frontend.modelica.connections.expandable import expand, unused
from pliant.frontend.modelica.connections.graph import RootGraph
from pliant.frontend.modelica.connections.sets import Sets
from pliant.frontend.modelica.connections.streams import Streams
from pliant.frontend.modelica.flatten.balance import check_balance
from pliant.frontend.modelica.flatten.clocks import solve_clocks
from pliant.frontend.modelica.flatten.context import Context
from pliant.frontend.modelica.flatten.equations import EquationTranslator, is_structural
from pliant.frontend.modelica.flatten.sections import as_equations, initial_checks
from pliant.frontend.modelica.flatten.statements import Statements
from pliant.frontend.modelica.flatten.translate import Translator
from pliant.frontend.modelica.flatten.variables import Variables
from pliant.frontend.modelica.instances.classes import ClassUse, Scope
from pliant.frontend.modelica.instances.components import ABSENT, Many, Var
from pliant.frontend.modelica.instances.inst import Inst
from pliant.frontend.modelica.instances.rules import check_connector
from pliant.frontend.modelica.library.path import LibraryPath, given_path
from pliant.frontend.modelica.library.root import ClassRoot, open_classes
from pliant.frontend.modelica.problems import nearest, problem, unsupported
from pliant.frontend.modelica.recursion import deep_recursion
from pliant.frontend.modelica.scopes.program import World, name_parts
from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.syntax.source import Source
from pliant.frontend.modelica.syntax.walk import walk
from pliant.frontend.modelica.values.data import NotKnown

UNEXPECTED = (TypeMismatch, ArithmeticError, LookupError, AttributeError, TypeError, ValueError, AssertionError)


def flatten(source: str | Path, name: str = "", path: Any = None, *, balanced: bool = True) -> FlatModel:
    """The model ``name`` of a text, a file or a folder; libraries are those of ``path``, else of MODELICAPATH.

    ``balanced``: as many equations as unknowns are asked for, as a simulation needs them.
    """
    if name and isinstance(source, str) and not source.strip():
        warnings: list[str] = []
        root = ClassRoot(LibraryPath(given_path(path), warnings), warnings)
    else:
        root = open_classes(source, path)
    if not name:
        if root.default is None:
            raise problem("the text holds no class", None, hint="write `model M ... end M;`")
        name = root.default.full_name
    return flatten_class(World(root), name, balanced=balanced)


def flatten_class(world: World, name: str, *, balanced: bool = True) -> FlatModel:
    """A model by its full name."""
    with deep_recursion():
        try:
            return _Flattening(world, _find(world, name), name).run(balanced=balanced)
        except RecursionError:
            text = f"`{name}` is nested too deeply, or something in it is defined by itself"
            hint = "look for classes, functions or parameters that need themselves"
            raise problem(text, _definition_of(world, name), hint=hint) from None
        except (
            TypeMismatch,
            ArithmeticError,
            LookupError,
            AttributeError,
            TypeError,
            ValueError,
            AssertionError,
        ) as error:
            text = f"`{name}` has a form that is not handled ({type(error).__name__}: {error})"
            raise unsupported(text, _definition_of(world, name), hint="simplify the model, and report it") from error
        except NotKnown as unknown:
            raise problem(f"a value is needed that is not known: {unknown.message}", unknown.node) from None


def _definition_of(world: World, name: str) -> tree.Node | None:
    """The class, where it is found: the place of faults that have none of their own."""
    try:
        return _find(world, name).core.entry.definition
    except (ModelError, RecursionError):
        return None


def _find(world: World, name: str) -> ClassUse:
    parts = name_parts(name)
    cls = world.top(parts[0] if parts else name)
    known: Any = [one.name for one in world.root.own]
    for part in parts[1:]:
        if cls is None:
            break
        known = cls.core.table.elements
        cls = cls.instance.class_member(part)
    if cls is None:
        names = [one for one in known if isinstance(one, str)]
        outside = "check the name, or add its library to MODELICAPATH or `path=[...]`"
        hint = nearest(parts[-1], names) or (
            f"there are {', '.join(f'`{one}`' for one in names[:8])}" if names else outside
        )
        raise problem(f"there is no class `{name}`", None, hint=hint)
    return cls


class _Flattening:
    def __init__(self, world: World, cls: ClassUse, name: str) -> None:
        self.world, self.cls, self.name = world, cls, name
        self.builder = FlatBuilder(name)
        self.out = Translator(world, self.builder)
        self.root = Inst(cls, cls.mod, None, "")
        self.variables = Variables(self.out, self.root)
        self.out.variables = self.variables
        world.values.translator = self.out
        self.sets = Sets(self.out)
        self.graph = RootGraph(self.out, self.sets)
        self.collector = Collector(self.out)
        self.insts: list[Inst] = []
        self.checked: set[Any] = set()
        self.vars: list[Var] = []
        self.set_by_when: set[Var] = set()

    def run(self, *, balanced: bool = True) -> FlatModel:
        self._check_class()
        self._instantiate()
        self._connections()
        left_out = unused(self.sets, self.vars)
        self.variables.left_out = left_out
        for var in self.vars:
            if var not in left_out:
                self.variables.enter(var)
        self.variables.finish()
        equations = EquationTranslator(self.out)
        for inst in self.insts:
            self._sections(inst, equations)
        self._connection_equations()
        self.variables.finish()
        self.variables.lock()
        if balanced:
            check_balance(self.builder, self.insts)
        solve_clocks(self.builder)
        return self.builder.finish(
            experiment=self._experiment(),
            description=_description(self.cls),
            class_name=self.cls.name if self.cls.name != self.name else "",
            files=self._files(),
            digest=self._digest(),
        )

    def _check_class(self) -> None:
        cls = self.cls
        if cls.kind in ("package", "function", "type", "record", "operator", "operator function"):
            text = f"`{self.name}` is a {cls.kind}, which cannot be simulated"
            raise problem(text, cls.core.entry.definition, rule="4.7", hint="name a model or block")
        if cls.is_partial:
            text = f"`{self.name}` is partial: it is incomplete on purpose"
            raise problem(text, cls.core.entry.definition, rule="4.7", hint="name a model that extends it")

    # --------------------------------------------------------------------------------------------------- instances

    def _instantiate(self) -> None:
        stack: list[Any] = [self.root]
        while stack or self.world.added:
            thing = stack.pop() if stack else self.world.added.pop()
            if isinstance(thing, Var):
                _check_alone(thing)
                _check_potential(thing)
                self.vars.append(thing)
                continue
            if isinstance(thing, Many):
                stack.extend(reversed(thing.elements))
                continue
            thing.check_modifiers()
            if thing.core not in self.checked and thing.cls.kind == "connector":
                self.checked.add(thing.core)
                check_connector(thing, self.out)
            if thing.cls.is_partial and thing is not self.root:
                text = f"`{thing.path}` is of the class `{thing.cls.name}`, which is partial"
                raise problem(text, thing.node, rule="4.7", hint="redeclare it with a class that is complete")
            self.insts.append(thing)
            thing.check_redeclared()
            children = []
            for name, element in thing.table.elements.items():
                if element.is_class:
                    continue
                node = element.node
                if node.prefixes & tree.OUTER and not node.prefixes & tree.INNER:
                    thing.child(name)
                    continue
                child = thing.child(name)
                if child is not ABSENT:
                    children.append(child)
            stack.extend(reversed(children))

    def _connections(self) -> None:
        for inst in self.insts:
            self.collector.instance(inst)
        for var in expand(self.collector):
            self.vars.append(var)
        for one in self.collector.connections:
            self.sets.connect(one)
        for name, call, context in self.collector.calls:
            self.graph.call(name, call, context)
        self.broken = self.graph.solve()
        self.world.values.graph = self.graph.answer
        self.sets.join()
        self.out.streams = Streams(self.out, self.sets)
        self._discrete()
        for var in self.vars:
            if var.variability == 2 and var not in self.set_by_when:
                self._check_discrete(var)

    def _check_discrete(self, var: Var) -> None:
        """What is declared as discrete Real is set in a when-clause, not by its declaration (4.4.4)."""
        binding = var.binding
        if var.base != "Real" or var.node.variability != "discrete" or binding is None or var.cls.is_connector:
            return
        if isinstance(binding.value, (tree.RealLiteral, tree.IntegerLiteral)) and not var.causality:
            text = f"`{var.path}` is a discrete Real, and no when-clause sets it"
            raise problem(text, var.node, path=var.parent.path, rule="4.4.4", hint="remove `discrete`")

    def _discrete(self) -> None:
        """Real variables that when-clauses set change at events only."""
        for inst in self.insts:
            for layer in inst.table.layers:
                body = layer.body
                if body is None:
                    continue
                equations = (one for one in body.equations if "when" in one.text)
                for part in (*self._chosen(equations, inst.scope(layer.number)), *body.algorithms):
                    if "when" in part.text:
                        self._discrete_in(part, inst, layer.number)

    def _chosen(self, equations: Iterable[tree.AnyEquation], scope: Scope) -> Iterator[tree.AnyEquation]:
        """Equations without the branches of structural ifs that are not chosen."""
        for one in equations:
            if not isinstance(one, tree.IfEquation) or not is_structural(one):
                yield one
                continue
            for condition, body in (*one.branches, (None, one.otherwise)):
                known = condition is None or self.out.values.tried(condition, scope, "the choice of equations by `if`")
                if known is not False:
                    yield from self._chosen(body, scope)
                if known is True:
                    break

    def _discrete_in(self, part: tree.Node, inst: Inst, number: int) -> None:
        for node in walk(part):
            if not isinstance(node, (tree.WhenEquation, tree.WhenStatement)):
                continue
            for inner in walk(node):
                targets: list[Any] = []
                if isinstance(inner, tree.SimpleEquation):
                    targets = list(inner.left.items) if isinstance(inner.left, tree.Tuple) else [inner.left]
                elif isinstance(inner, tree.Assignment):
                    targets = [inner.target]
                elif isinstance(inner, tree.TupleAssignment):
                    targets = list(inner.targets.items)
                for one in targets:
                    if isinstance(one, tree.Reference):
                        self._mark(one, inst, number)

    def _mark(self, ref: tree.Reference, inst: Inst, number: int) -> None:
        plain_ref = tree.Reference(ref.source, ref.start, ref.end, ref.names, (), ref.rooted)
        try:
            thing, _ = self.world.values.resolver.resolve(plain_ref, inst.scope(number))
        except ModelError:
            return  # said again, with its place, when the equation is translated
        for var in _variables(thing):
            if var.variability > 1:
                self.set_by_when.add(var)
            var.variability = min(var.variability, 2)
            owner: Any = var.parent
            while owner is not None and owner is not inst:
                if owner.cls.kind in ("model", "block") and len(ref.names) > 1:
                    text = f"`{ref.text}` belongs to the {owner.cls.kind} `{owner.cls.name}` and cannot be set here"
                    hint = "set it in the class that declares it"
                    raise problem(text, ref, path=inst.path, rule="4.4.4", hint=hint)
                owner = owner.parent

    # --------------------------------------------------------------------------------------------------- equations

    def _sections(self, inst: Inst, equations: EquationTranslator) -> None:
        builder = self.builder
        for layer in reversed(inst.table.layers):
            body = layer.body
            if body is None:
                continue
            context = Context(inst.scope(layer.number))
            if body.equations:
                builder.equations += equations.items(body.equations, context)
            if body.initial_equations:
                equations.is_initial = self.out.calls.is_initial = True
                found_items = equations.items(body.initial_equations, context)
                equations.is_initial = self.out.calls.is_initial = False
                builder.initial_equations += found_items
                builder.equations += initial_checks(builder, found_items)
            for section in body.algorithms:
                items = Statements(self.out).items(section.statements, context)
                found = as_equations(builder, items, is_initial=False)
                if found is not None:
                    builder.equations += found
                else:
                    builder.algorithms.append(FlatAlgorithm(tuple(items), section.span, inst.path))
            for section in body.initial_algorithms:
                self.out.calls.is_initial = True
                items = Statements(self.out).items(section.statements, context)
                self.out.calls.is_initial = False
                found = as_equations(builder, items, is_initial=True)
                if found is not None:
                    builder.initial_equations += found
                    builder.equations += initial_checks(builder, found)
                else:
                    builder.initial_algorithms.append(FlatAlgorithm(tuple(items), section.span, inst.path))

    def _connection_equations(self) -> None:
        flows = [var for var in self.vars if var.connection == "flow" and _in_connector(var)]
        self.sets.equations(flows)
        self.graph.equations(self.broken)
        self.out.streams.equations()

    # ------------------------------------------------------------------------------------------------------ the rest

    def _experiment(self) -> Experiment:
        annotation = getattr(self.cls.core.entry.definition, "annotation", None)
        found = annotation.find("experiment") if annotation is not None else None
        if found is None:
            return Experiment()
        values: dict[str, float] = {}
        scope = self.root.scope(0)
        for one in found.arguments:
            if isinstance(one, tree.Modifier) and one.modification is not None and one.modification.value is not None:
                value = self.world.values.tried(one.modification.value, scope, "the experiment")
                if isinstance(value, (int, float)):
                    values[one.names[0]] = float(value)
        return Experiment(
            values.get("StartTime"), values.get("StopTime"), values.get("Tolerance"), values.get("Interval")
        )

    def _files(self) -> tuple[SourceFile, ...]:
        names = {span.file for span in self.builder.spans if span is not None}
        return tuple(SourceFile(name) for name in sorted(names))

    def _digest(self) -> str:
        found = hashlib.sha256(self.name.encode())
        for one in sorted(_source_digest(source) for source in self.world.sources):
            found.update(one)
        return found.hexdigest()


_digests: WeakKeyDictionary[Source, bytes] = WeakKeyDictionary()


def _source_digest(source: Source) -> bytes:
    """Of the words of a text: line breaks and blanks between them do not count."""
    found = _digests.get(source)
    if found is None:
        found = _digests[source] = hashlib.sha256(" ".join(source.text.split()).encode()).digest()
    return found


def _check_alone(var: Var) -> None:
    """A connector that is one variable must be a signal: alone it would be a potential without a flow (9.3.1)."""
    if var.cls.kind == "connector" and not var.causality and not var.connection and not var.parent.cls.is_connector:
        text = f"`{var.path}` is a connector without `input` or `output`: it has a potential and no flow"
        raise problem(text, var.node, path=var.parent.path, rule="9.3.1", hint="write `input` or `output` before it")


def _check_potential(var: Var) -> None:
    """A member of an expandable connector, which may not be there, gets no value from a modifier (9.1.3)."""
    if var.parent.cls.kind != "expandable connector" or var.variability <= 1 or var.binding is None:
        return
    value, node = var.binding.value, var.node
    if value is not None and not (value.source is node.source and node.start <= value.start < node.end):
        text = f"`{var.path}` is a member of an expandable connector and cannot be given a value"
        raise problem(text, value, path=var.parent.path, rule="9.1.3", hint="connect a variable with it")


def _variables(thing: Any) -> Iterator[Var]:
    if isinstance(thing, Var):
        yield thing
    elif isinstance(thing, Inst):
        for name, element in thing.table.elements.items():
            if not element.is_class:
                yield from _variables(thing.child(name))
    elif hasattr(thing, "shape"):
        for one in thing.elements if isinstance(thing, Many) else thing.items:
            yield from _variables(one)


def _in_connector(var: Var) -> bool:
    """A flow counts where it is a member of a connector."""
    inst: Any = var.parent
    if var.cls.is_connector:
        return True
    while inst is not None:
        if inst.cls.is_connector:
            return True
        inst = inst.parent
    return False


def _description(cls: ClassUse) -> str:
    return getattr(cls.core.entry.definition, "description", "")
