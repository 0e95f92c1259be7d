"""From a file of a system to a coupling that runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pliant.cosim.conversion import Conversion
from pliant.cosim.coupling import Coupling
from pliant.cosim.loaded import LoadedCoupling
from pliant.cosim.master import Master
from pliant.cosim.part import Part, PartSettings
from pliant.cosim.record import RunAbout
from pliant.cosim.request import part_options
from pliant.cosim.ssp.bindings import Assigned
from pliant.cosim.ssp.content import FMU, MODELICA, SspDescription, Value
from pliant.cosim.ssp.flow import PARAMETERS, FlowPoint, Way, element_name
from pliant.cosim.ssp.package import DEFAULT, FolderPackage, Package, UnpackFolder, open_package
from pliant.cosim.ssp.read_description import IMPLEMENTATIONS, read_description
from pliant.cosim.ssp.resolve import Resolved, resolve, with_values
from pliant.cosim.ssp.signals import spread
from pliant.cosim.ssp.tree import SspNode, TreeBuilder
from pliant.cosim.ssp.variables import ComponentPort, ComponentPorts, FmuPorts, ModelPorts
from pliant.cosim.ssp.write import Interface
from pliant.cosim.ssp.xml import refused
from pliant.errors import ArgumentError, FmuError, ModelError, SspError
from pliant.fmi.description import FmuExperiment
from pliant.fmi.model import FmuModel
from pliant.fmi.options import FmuOptions, fmu_options
from pliant.solve.names import suggestion

Load = Callable[..., Any]
UNREAD = ("string", "binary", "clock")


class SystemCoupling(LoadedCoupling):
    """A coupling from an .ssp or .ssd."""

    def __init__(
        self, experiment: FmuExperiment, resolved: Resolved, models: Mapping[SspNode, Any], place: UnpackFolder
    ) -> None:
        super().__init__(experiment)
        self._resolved, self._place = resolved, place
        self._free: dict[str, Any] = {}  # inputs that nothing is connected to
        self._opened = list(dict.fromkeys(models.values()))
        for node in resolved.components:
            self._add(node, models[node])
        for way in resolved.wires:
            self._connect(way)
        self._free_inputs()

    def _add(self, node: SspNode, model: Any) -> None:
        name = node.full
        if name in self._graph.parts:
            raise node.element.place.refused(
                f"another component has the full name {name!r}, too", hint="give one of them another name"
            )
        given: dict[str, dict[str, Any]] = {"parameters": {}, "start_values": {}}
        for variable, one in self._resolved.values[node].items():
            self._assign(node, variable, one, given)
        numeric = getattr(model, "_numeric", model)
        if isinstance(numeric, FmuModel):
            shaped = numeric.shaped_for(given["parameters"])
            model = model if shaped is numeric else shaped
        self._graph.add(self._part(name, model), any_name=True)
        self._options[name] = part_options(name, {key: value for key, value in given.items() if value})
        self._models[name] = model

    def _assign(self, node: SspNode, name: str, one: Assigned, given: dict[str, dict[str, Any]]) -> None:
        variable = node.variables.find(name) if node.variables is not None else None
        assert variable is not None
        one = with_items(one, variable, as_number=variable.causality == "input")
        if variable.causality == "input":
            if variable.base in UNREAD:
                raise one.place.refused(
                    f"{name} is an input of type {variable.base}, which cannot be set", hint="leave its value out"
                )
            for element, value in _each(name, one, variable.shape):
                self._free[f"{node.full}.{element}"] = value
        elif variable.causality in PARAMETERS:
            given["parameters"][name] = as_python(one)
        elif variable.is_settable:
            given["start_values"][name] = as_python(one)

    def _connect(self, way: Way) -> None:
        source, target = (element_name(one.name, one.index) for one in (way.source, way.target))
        place = way.edges[-1].connection.place
        for point in (way.source, way.target):
            variable = point.node.variables.find(point.name) if point.node.variables is not None else None
            if variable is not None and variable.base in UNREAD:
                raise place.refused(
                    f"{point.full} is a {variable.base}; texts, bytes and clocks cannot be connected between parts",
                    hint="remove the connection, or join both models in one",
                )
        start, end = self._graph.parts[way.source.node.full], self._graph.parts[way.target.node.full]
        try:
            port = start.port(source)
            end.port(target)
        except ModelError as error:
            raise place.refused(error.message, hint=error.hint) from None
        if port.causality == "constant":  # it is the same all the time
            self._free[way.target.full] = way.conversion.carry(_constant(start, source, place.refused))
            return
        try:
            self._graph.connect(way.source.full, way.target.full, way.conversion)
        except (ArgumentError, ModelError) as error:
            raise place.refused(error.message, hint=error.hint) from None

    def _free_inputs(self) -> None:
        """Values of inputs without a source: bound, or else those of the model."""
        connected = {f"{one.target_part}.{one.target}" for one in self._graph.connections}
        values: dict[str, Any] = {}
        for part in self._graph.parts.values():
            for port in part.inputs:
                name = f"{part.name}.{port.name}"
                if name in connected:
                    continue
                if name in self._free:
                    values[name] = self._free[name]
                elif port.start is not None:
                    values[name] = bool(port.start) if port.type == "boolean" else port.start
        self._free = values

    # ----------------------------------------------------------------------------------------------- simulation

    def _completed(self, arguments: dict[str, Any]) -> dict[str, Any]:
        start = float(arguments.get("start") or 0.0)
        parameters = self._parameters(arguments.get("parameters"))
        inputs = self._free | spread({k: v for k, v in parameters.items() if k in self._free}, {})
        inputs |= spread(arguments.get("inputs"), self._resolved.inputs)
        parameters = {k: v for k, v in parameters.items() if k not in self._free}
        parameters |= self._linked(start, parameters)
        return {**arguments, "inputs": inputs, "parameters": parameters}

    def _parameters(self, given: Any) -> dict[str, Any]:
        """By part; values of systems' connectors go to where they lead."""
        if not isinstance(given, Mapping):
            return given or {}
        inside = {name: as_python(one) for name, one in with_values(self._resolved, dict(given)).items()}
        own = {
            name: value
            for name, value in given.items()
            if not (name in self._resolved.inputs or any(one.startswith(f"{name}[") for one in self._resolved.inputs))
        }
        return inside | own

    def _linked(self, start: float, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters that other parts calculate: each of these is initialised once for them."""
        out: dict[str, Any] = {}
        for way in self._in_order():
            part = self._graph.parts[way.source.node.full]
            if way.target.full in parameters:
                continue
            name = element_name(way.source.name, way.source.index)
            value = way.conversion.carry(self._calculated(part, name, start, {**parameters, **out}))
            variable = way.target.node.variables and way.target.node.variables.find(way.target.name)
            base = variable.base if variable else "real"
            typed = bool(value) if base == "boolean" else int(value) if base in ("integer", "enumeration") else value
            out[way.target.full] = typed
        return out

    def _in_order(self) -> list[Way]:
        """Links, sources first."""
        left, done = list(self._resolved.links), []
        while left:
            targets = {way.target.node for way in left}
            ready = [way for way in left if way.source.node not in targets]
            if not ready:
                way = left[0]
                raise way.edges[-1].connection.place.refused(
                    "calculated parameters depend on each other in a circle: "
                    + ", ".join(f"{one.source.full} -> {one.target.full}" for one in left),
                    hint="remove one of these connections",
                )
            done += ready
            left = [way for way in left if way not in ready]
        return done

    def _calculated(self, part: Part, name: str, start: float, parameters: Mapping[str, Any]) -> float:
        own = self._options[part.name]
        if part.port(name).causality == "constant":
            return _constant(part, name, lambda text, hint: ArgumentError(text, hint=hint))
        mine = {k[len(part.name) + 1 :]: v for k, v in parameters.items() if k.startswith(f"{part.name}.")}
        part.configure(
            PartSettings(
                start,
                stop=start + 1.0,
                parameters={**own.get("parameters", {}), **mine},
                start_values=own.get("start_values", {}),
            )
        )
        part.choose([name])
        free = (self._free.get(f"{part.name}.{port.name}", port.start or 0.0) for port in part.inputs)
        inputs = np.array([one if isinstance(one, (int, float)) else 0.0 for one in free], dtype=np.float64)
        try:
            part.begin(start, inputs)
            return float(part.outputs(inputs)[0])
        finally:
            part.close()

    def _about(self, master: Master, asked: Mapping[str, Any]) -> RunAbout:
        about = super()._about(master, asked)
        derived: dict[str, tuple[str, Conversion]] = {}
        for name, way in self._resolved.outputs.items():
            derived[name] = (way.source.full, way.conversion)
        for name, ways in self._resolved.inputs.items():
            same = [way for way in ways if way.conversion.changes_nothing]
            if same:
                derived[name] = (same[0].target.full, same[0].conversion)
        return replace(about, derived=derived)

    def _interface(self) -> Interface:
        found = self._resolved
        inputs = [
            (way.source.node.path, way.source, self._kind(way.source), way.target, way.conversion)
            for ways in found.inputs.values()
            for way in ways
        ]
        outputs = [
            (way.target.node.path, way.target, self._kind(way.target), way.source, way.conversion)
            for way in found.outputs.values()
        ]
        return Interface(
            self._models,
            self._options,
            inputs=tuple(_leads(*one) for one in inputs),
            outputs=tuple(_leads(*one) for one in outputs),
            links=tuple((*_ends(way.source), *_ends(way.target), way.conversion) for way in found.links),
            values=self._free,
        )

    @staticmethod
    def _kind(point: FlowPoint) -> str:
        return point.node.element.connectors[point.name].kind

    def __enter__(self) -> SystemCoupling:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes of FMUs and remove what was unpacked; it also happens at exit."""
        for model in self._opened:
            if hasattr(model, "close"):
                model.close()
        self._place.close()


def _ends(point: FlowPoint) -> tuple[str, str]:
    """Part and variable."""
    return point.node.full, element_name(point.name, point.index)


def _leads(
    system: tuple[str, ...], connector: FlowPoint, kind: str, inside: FlowPoint, through: Conversion
) -> tuple[tuple[str, ...], str, str, str, str, Conversion]:
    part, variable = _ends(inside)
    return system, element_name(connector.name, connector.index), kind, part, variable, through


def as_python(one: Assigned) -> Any:
    """A value as parts take it; arrays as nested lists."""
    if not isinstance(one.value, tuple):
        return one.value
    return np.array(one.value, dtype=object).reshape(one.shape).tolist()


def with_items(one: Assigned, variable: ComponentPort, *, as_number: bool) -> Assigned:
    """Items of enumerations that the variable knows; as numbers for inputs, and for Integers."""
    if variable.base not in ("enumeration", "integer"):
        return one
    items = variable.items if variable.base == "enumeration" else one.quantity.items or {}

    def number(value: Value) -> Value:
        if not isinstance(value, str):
            return value
        if value not in items:
            raise one.place.refused(f"{value!r} is no item of the enumeration", hint=suggestion(value, items))
        return items[value] if as_number or variable.base == "integer" else value

    every = one.value if isinstance(one.value, tuple) else (one.value,)
    done = tuple(number(value) for value in every)
    return replace(one, value=done if isinstance(one.value, tuple) else done[0])


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _each(name: str, one: Assigned, shape: tuple[int, ...]) -> list[tuple[str, Any]]:
    if not isinstance(one.value, tuple):
        return [(name, one.value)]
    if shape and shape != one.shape:
        raise one.place.refused(
            f"{name} is an array of {_size(shape)}, and {_size(one.shape)} values are given",
            hint="give as many values as it has elements",
        )
    indices = np.ndindex(*one.shape)
    return [
        (element_name(name, tuple(k + 1 for k in index)), value)
        for index, value in zip(indices, one.value, strict=True)
    ]


def _constant(part: Part, name: str, refuse: Callable[..., Exception]) -> float:
    numeric = getattr(part, "given", None)
    found = {} if numeric is None else numeric.constants(numeric.p_start)
    if name not in found:
        raise refuse(f"the value of {part.name}.{name} is not known", hint="connect an output instead")
    return float(found[name])


class _Loading:
    """Loads the model of each component."""

    def __init__(self, load: Load, options: FmuOptions, given: Any) -> None:
        self.load, self.options, self.given = load, options, given
        self.loaded: dict[tuple[str, str, str], Any] = {}
        self.models: dict[SspNode, Any] = {}

    def absent(self, node: SspNode, text: str, hint: str) -> None:
        """Nothing can run without it."""
        raise node.element.place.refused(text, hint=hint)

    def open(self, node: SspNode) -> ComponentPorts:
        """One file is loaded once."""
        one = node.component
        assert one is not None
        key = str(node.file), one.implementation, one.class_name
        if key not in self.loaded:
            self.loaded[key] = self._loaded(node)
        self.models[node] = model = self.loaded[key]
        numeric = getattr(model, "_numeric", model)
        return FmuPorts(numeric.fmu.description) if isinstance(numeric, FmuModel) else ModelPorts(numeric)

    def _loaded(self, node: SspNode) -> Any:
        one = node.component
        assert one is not None
        try:
            if one.type == FMU:
                return self.load(node.file, kind=IMPLEMENTATIONS[one.implementation], options=self.options)
            if one.type == MODELICA:
                return self.load(node.file, name=one.class_name or None)
        except SspError:
            raise
        except (ModelError, ArgumentError) as error:
            at = one.place
            told = type(error)(f"{at.file}:{at.line}: {at.element}: {error.message}", hint=error.hint)
            if isinstance(error, FmuError) and isinstance(told, FmuError):
                told.element, told.line = error.element, error.line
            raise told from error
        raise one.place.refused(
            f"components of type {one.type!r} are not supported", hint="FMUs, Modelica models, .ssd and .ssp files are"
        )


def find_description(path: Path, variant: str | None, options: FmuOptions, place: UnpackFolder) -> tuple[Package, str]:
    """The package and the name of the .ssd in it that is meant."""
    if not path.exists():
        raise SspError(f"there is no file {path}", hint="check the path")
    if path.suffix.lower() == ".ssd" and path.is_file():
        if variant is not None:
            raise ArgumentError(f"{path}: variant is for .ssp files, which hold several", hint="leave it out")
        return FolderPackage(path.absolute().parent, str(path.parent)), path.name
    package = open_package(path, options, place)
    if variant is None:
        try:
            package.read(DEFAULT)
        except KeyError:
            raise refused(
                f"there is no {DEFAULT} in it", file=str(path), hint="check the path: this is no .ssp"
            ) from None
        return package, DEFAULT
    names = variants(package, options)
    for name, title in names.items():
        if variant in (name, name.removesuffix(".ssd"), title):
            return package, name
    raise ArgumentError(
        f"{path}: there is no variant {variant!r}", hint=suggestion(variant, [*names, *filter(None, names.values())])
    )


def variants(package: Package, options: FmuOptions) -> dict[str, str]:
    """The .ssd files at the top of a package, and the names that they give themselves."""
    if isinstance(package, FolderPackage):
        files = sorted(one.name for one in package.path.glob("*.ssd"))
    else:
        files = sorted(one for one in package.archive.names if one.endswith(".ssd") and "/" not in one)  # type: ignore[attr-defined]
    return {name: read_description(package, name, options).name for name in files}


def load_ssp(path: Path, variant: str | None, options: Any, load: Load) -> Coupling:
    """Load an .ssp or .ssd."""
    checked, place = fmu_options(options), UnpackFolder()
    try:
        package, name = find_description(path, variant, checked, place)
        loading = _Loading(load, checked, options)
        builder = TreeBuilder(checked, place, loading)
        description, root = builder.build(package, name)
        return SystemCoupling(experiment_of(description), resolve(root), loading.models, place)
    except BaseException:
        place.close()
        raise
    finally:
        place.close_files()


def experiment_of(description: SspDescription) -> FmuExperiment:
    """The default experiment; the step is an annotation."""
    return FmuExperiment(description.start, description.stop, description.step)
