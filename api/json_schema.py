"""JSON Schema of the answers, made from their declarations: what ``cli/schemas`` ships as files."""

from __future__ import annotations

import ast
import inspect
import sys
import types
import typing
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from gpuadvise.api.answers import common
from gpuadvise.api.answers.fields import (
    MAY_BE_ABSENT,
    AnswerDeclaration,
    Keywords,
    Record,
    Unit,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"
COMMANDS = (
    "access", "advise", "bandwidth", "banks", "compat", "device", "diff", "doctor", "explain", "fleet",
    "gpus", "kernels", "latency", "lint", "measure", "occupancy", "overlap", "roofline", "rules", "scaling",
    "timeline", "whatif",
)  # fmt: skip
_SHARED = "common.json#/$defs/"
_ROW = "A line of --format csv and --format ndjson; the names are the columns."
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}


def declaration_of(command: str) -> AnswerDeclaration:
    """Return the declaration of the answer of *command*."""
    module = import_module(f"gpuadvise.api.answers.{command}")
    declaration: AnswerDeclaration = module.DECLARATION
    return declaration


def schema_of(command: str) -> dict[str, Any]:
    """Return the schema of the answer of *command*; what several answers hold stays in ``common.json``."""
    declared = declaration_of(command)
    records = [*declared.results, *([declared.input] if declared.input else [])]
    names = {kind: name for name, kind in declared.named.items()}
    writer = _Writer(_used_often(records) | names.keys(), names)
    for kind in names:
        writer.value(kind)
    results = [writer.value(kind) for kind in declared.results]
    properties: dict[str, Any] = {"schema": {"const": f"gpuadvise.{command}/1"}}
    if declared.device != "may be":
        given = {"$ref": f"{_SHARED}{_name(common.DeviceRecord)}"}
        properties["device"] = given if declared.device == "always" else {"type": "null"}
    if declared.input:
        properties["input"] = writer.value(declared.input)
    properties["result"] = results[0] if len(results) == 1 else {"anyOf": results}
    if declared.rows:
        rows = [writer.value(kind) for kind in declared.rows]
        writer.definitions["row"] = {"description": _ROW, "anyOf": rows}
    return {
        "$schema": DIALECT,
        "$id": f"gpuadvise:{command}/1",
        "title": declared.title,
        **({"description": declared.description} if declared.description else {}),
        "allOf": [{"$ref": f"{_SHARED}envelope"}],
        "properties": properties,
        **({"$defs": writer.definitions} if writer.definitions else {}),
    }


def shared_schema() -> dict[str, Any]:
    """Return the schema of what all answers share: the envelope, findings, the GPU."""
    records = [kind for kind in vars(common).values() if _is_record(kind) and kind is not Record]
    writer = _Writer(frozenset(records))
    for kind in records:
        writer.value(kind)
    return {
        "$schema": DIALECT,
        "$id": "gpuadvise:common/1",
        "title": "What every JSON answer of gpuadvise shares",
        "$defs": {**writer.definitions, "envelope": _envelope()},
    }


def _envelope() -> dict[str, Any]:
    def listed(kind: type[Record]) -> dict[str, Any]:
        return {"type": "array", "items": {"$ref": f"#/$defs/{_name(kind)}"}}

    device = {"$ref": f"#/$defs/{_name(common.DeviceRecord)}"}
    properties = {
        "schema": {"type": "string", "pattern": r"^gpuadvise\.[a-z]+/1$"},
        "version": {"type": "string", "pattern": r"^[0-9]+\.[0-9]+\.[0-9]+"},
        "device": {"anyOf": [device, {"type": "null"}]},
        "input": {"type": "object"},
        "result": {"type": "object"},
        "findings": listed(common.Finding),
        "not_evaluated": listed(common.NotEvaluated),
    }
    return {"type": "object", "required": list(properties), "properties": properties}


class _Writer:
    """Writes records as schemas; those of *often* once, among the *definitions*, by reference."""

    def __init__(self, often: frozenset[type], names: Mapping[type, str] | None = None) -> None:
        self.often = often
        self.names = names or {}
        self.definitions: dict[str, Any] = {}

    def value(self, hint: Any) -> dict[str, Any]:
        """Return the schema of a value of the type *hint*."""
        origin = typing.get_origin(hint)
        if origin is typing.Annotated:
            return self._annotated(hint)
        if origin in (types.UnionType, typing.Union):
            return self._any_of(typing.get_args(hint))
        if origin is typing.Literal:
            return {"enum": list(typing.get_args(hint))}
        if origin is tuple:
            items = typing.get_args(hint)[0]
            return {"type": "array", **({} if items is object else {"items": self.value(items)})}
        if origin is Mapping:
            return self._mapping(*typing.get_args(hint))
        if hint is types.NoneType:
            return {"type": "null"}
        return (
            self._record(hint)
            if _is_record(hint)
            else {"type": _TYPES[hint]}
            if hint in _TYPES
            else {}
        )

    def _annotated(self, hint: Any) -> dict[str, Any]:
        kind, *said = typing.get_args(hint)
        if MAY_BE_ABSENT in said:
            kind = _without_none(kind)
        schema = self.value(kind)
        for word in said:
            if isinstance(word, Keywords):
                schema |= {key: _plain(value) for key, value in word.keywords.items()}
            elif isinstance(word, Unit):
                schema["unit"] = word.symbol
        return schema

    def _any_of(self, kinds: tuple[Any, ...]) -> dict[str, Any]:
        schemas = [self.value(kind) for kind in kinds]
        plain = [
            schema
            for schema in schemas
            if set(schema) - {"$ref", "anyOf", "enum"} and "type" in schema
        ]
        limited = [schema for schema in schemas if len(schema) > 1]
        if len(plain) == len(schemas) and len(limited) <= 1:
            names = [schema["type"] for schema in schemas]
            return {"type": names, **{k: v for s in limited for k, v in s.items() if k != "type"}}
        if len(schemas) == 2 and "enum" in schemas[0] and schemas[1] == {"type": "null"}:
            return {"enum": [*schemas[0]["enum"], None]}
        return {"anyOf": schemas}

    def _mapping(self, key: Any, item: Any) -> dict[str, Any]:
        names = self.value(key)
        return {
            "type": "object",
            **({} if key is str else {"propertyNames": names}),
            **({} if item is object else {"additionalProperties": self.value(item)}),
        }

    def _record(self, kind: type[Record]) -> dict[str, Any]:
        name = self.names.get(kind) or _name(kind)
        if kind not in self.often:
            shared = kind.__module__ == common.__name__
            return {"$ref": f"{_SHARED}{name}"} if shared else self._fields(kind)
        if name not in self.definitions:
            self.definitions[name] = {}  # a record may hold itself
            self.definitions[name] = self._fields(kind)
        return {"$ref": f"#/$defs/{name}"}

    def _fields(self, kind: type[Record]) -> dict[str, Any]:
        meanings = meanings_of(kind)
        properties, required = {}, list(kind.KEYWORDS.get("required", ()))
        for name, hint, default in fields_of(kind):
            meaning = meanings.get(name)
            said = {"description": meaning} if meaning else {}
            properties[name] = said | self.value(hint) | said
            if not default:
                required.append(name)
        return {
            "description": _paragraphs(kind.__doc__ or ""),
            "type": "object",
            **({"required": required} if required else {}),
            "properties": properties,
            **{key: _plain(value) for key, value in kind.KEYWORDS.items() if key != "required"},
        }


def fields_of(kind: type[Record]) -> tuple[tuple[str, Any, bool], ...]:
    """Return the fields of *kind*: the name in JSON, the type, and whether an answer may lack it."""
    from dataclasses import MISSING, fields

    if kind not in _FIELDS:
        hints = typing.get_type_hints(kind, include_extras=True)
        _FIELDS[kind] = tuple(
            (field.name.rstrip("_"), hints[field.name], field.default is not MISSING)
            for field in fields(kind)  # type: ignore[arg-type]  # every record is a dataclass
        )
    return _FIELDS[kind]


_FIELDS: dict[type[Record], tuple[tuple[str, Any, bool], ...]] = {}


def meanings_of(kind: type[Record]) -> dict[str, str]:
    """Return what stands below each field of *kind* and of the records that it extends."""
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if _is_record(base):
            texts |= _texts_in(sys.modules[base.__module__]).get(base.__name__, {})
    return texts


@cache
def _texts_in(module: types.ModuleType) -> dict[str, dict[str, str]]:
    """Return the texts below the fields of each class of *module*, from its source."""
    texts: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if not isinstance(node, ast.ClassDef):
            continue
        own = texts.setdefault(node.name, {})
        for field, text in zip(node.body, node.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
            ):
                own[field.target.id.rstrip("_")] = _paragraphs(str(text.value.value))
    return texts


def _paragraphs(text: str) -> str:
    """Return *text* without its line breaks: a line for each paragraph."""
    return "\n".join(" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))


def _used_often(roots: list[type[Record]]) -> frozenset[type]:
    """Return the records that stand in several places below *roots*, or inside themselves."""
    uses: Counter[type] = Counter()

    def visit(hint: Any) -> None:
        if _is_record(hint):
            uses[hint] += 1
            if uses[hint] == 1 and hint.__module__ != common.__name__:
                for _, inner, _ in fields_of(hint):
                    visit(inner)
            return
        for inner in typing.get_args(hint):
            visit(inner)

    for root in roots:
        visit(root)
    return frozenset(
        kind for kind, count in uses.items() if count > 1 and kind.__module__ != common.__name__
    )


def _is_record(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Record)


def _name(kind: type) -> str:
    """Return the name of *kind* among definitions: ``KernelRecord`` is ``kernel_record``."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in kind.__name__).lstrip("_")


def _without_none(hint: Any) -> Any:
    kept = tuple(kind for kind in typing.get_args(hint) if kind is not types.NoneType)
    return typing.Union[kept]  # noqa: UP007  # of a tuple


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
