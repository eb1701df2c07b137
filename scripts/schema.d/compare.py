"""Compares the schema checker with Python's jsonschema on random schemas and values; see scripts/schema --help."""

import argparse
import decimal
import json
import math
import random

import checker
import jsonschema
from jsonschema import _utils

VALUES_PER_SCHEMA = 10
NAMES = ["a", "b", "c", "", "é", "a/b", "x~y", "a name of more than sixteen bytes", "a name of more than 16 bytes"]
STRINGS = ["", "a", "b", "ab", "abc", "é", "e\u0301", "🌌", "🌌🌌", "1", "null", "a longer string of text"]
NUMBERS = [0, 1, 2, 3, 5, 7, 10, -1, -3, 1.0, 0.5, 1.5, 0.1, 0.3, 0.35, -0.0, 2.5, 1e3, 1e-7, 12.34]
NUMBERS += [2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), float(2**53)]
DIVISORS = [1, 2, 3, 0.1, 0.5, 0.01, 1.5, 2.5, 1e-7, 1e3, 7, 2**53 + 1, 0.3]
TYPES = ["null", "boolean", "object", "array", "number", "string", "integer"]
DEFINITIONS = ["first", "second", "a/b~c"]


class Generator:
    """Makes random schemas and values."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, items):
        return self.random.choice(items)

    def some(self, items, most=3):
        return self.random.sample(items, self.random.randint(1, min(most, len(items))))

    def value(self, depth=3):
        kind = self.random.randrange(10 if depth > 0 else 6)
        if kind == 0:
            return self.pick([None, True, False])
        if kind in (1, 2):
            return self.pick(NUMBERS)
        if kind in (3, 4, 5):
            return self.pick(STRINGS)
        if kind in (6, 7):
            return [self.value(depth - 1) for _ in range(self.random.randrange(5))]
        return {name: self.value(depth - 1) for name in self.some(NAMES, 5)[self.random.randrange(2) :]}

    def root(self):
        schema = self.schema(3)
        if isinstance(schema, dict):
            schema["$defs"] = {name: self.schema(2) for name in DEFINITIONS}
        return schema

    def schema(self, depth):
        kind = self.random.randrange(12)
        if kind == 0:
            return self.pick([True, False, {}])
        if depth == 0 or kind < 4:
            return self.leaf()
        schema = {}
        for _ in range(self.random.randint(1, 3)):
            schema.update(self.part(depth - 1))
        return schema

    def leaf(self):
        small = self.random.randrange(4)
        return self.pick(
            [
                {"type": self.pick(TYPES)},
                {"type": self.some(TYPES)},
                {"const": self.value(1)},
                {"enum": [self.value(1) for _ in range(self.pick([1, 3, 12]))]},
                {"minLength": small, "maxLength": small + self.random.randrange(2)},
                {"minimum": self.pick(NUMBERS)},
                {"maximum": self.pick(NUMBERS), "type": "number"},
                {"exclusiveMinimum": self.pick(NUMBERS)},
                {"exclusiveMaximum": self.pick(NUMBERS)},
                {"multipleOf": self.pick(DIVISORS)},
                {"minItems": small, "uniqueItems": self.pick([True, False])},
                {"maxItems": small, "uniqueItems": True},
                {"minProperties": small},
                {"maxProperties": float(small)},
                {"required": self.some(NAMES)},
                {"$ref": self.reference()},
            ]
        )

    def reference(self):
        return "#/$defs/" + self.pick(["first", "second", "a~1b~0c", "a%7E1b~0c"])

    def part(self, depth):
        kind = self.random.randrange(14)
        if kind in (0, 1):
            return {"properties": {name: self.schema(depth) for name in self.some(NAMES, 4)}}
        if kind == 2:
            return {"properties": {name: True for name in self.some(NAMES, 5)}, "additionalProperties": self.schema(depth)}
        if kind == 3:
            return {"additionalProperties": self.schema(depth), "required": self.some(NAMES)}
        if kind == 4:
            return {"items": self.schema(depth)}
        if kind == 5:
            return {"prefixItems": self.schemas(depth), "items": self.schema(depth)}
        if kind == 6:
            return {"contains": self.schema(depth), "prefixItems": self.schemas(depth)}
        if kind == 7:
            return {"dependentRequired": {name: self.some(NAMES) for name in self.some(NAMES)}}
        if kind == 8:
            return {"not": self.schema(depth)}
        if kind == 9:
            return {"if": self.schema(depth), "then": self.schema(depth), "else": self.schema(depth)}
        if kind == 10:
            return {self.pick(["if", "then", "else"]): self.schema(depth), "description": "incomplete"}
        if kind == 11:
            return self.leaf()
        return {self.pick(["allOf", "anyOf", "oneOf"]): self.schemas(depth)}

    def schemas(self, depth):
        return [self.schema(depth) for _ in range(self.random.randint(1, 3))]


def unique_items(validator, is_unique, instance, schema):
    # jsonschema sorts the items, and misses some repetitions beside values such as [1] and [true].
    if is_unique and validator.is_type(instance, "array"):
        if any(_utils.equal(a, b) for place, a in enumerate(instance) for b in instance[:place]):
            yield jsonschema.ValidationError("not unique")


def exact_validator():
    """A validator for values whose fractions are decimals, so that multipleOf is exact."""
    decimal.getcontext().prec = 1000
    types = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        "integer",
        lambda _, value: not isinstance(value, bool)
        and (isinstance(value, int) or isinstance(value, decimal.Decimal) and value == value.to_integral_value()),
    )
    return jsonschema.validators.extend(
        jsonschema.Draft202012Validator, validators={"uniqueItems": unique_items}, type_checker=types
    )


def exact(value):
    return json.loads(json.dumps(value), parse_float=decimal.Decimal)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--pairs", type=int, required=True)
    arguments = parser.parse_args()
    generator, validator = Generator(arguments.seed), exact_validator()
    compared, valid, refused = 0, 0, 0
    while compared < arguments.pairs:
        # Some schemas are refused, so this can need another turn.
        count = min(200, math.ceil((arguments.pairs - compared) / VALUES_PER_SCHEMA))
        requests = [(generator.root(), [generator.value() for _ in range(VALUES_PER_SCHEMA)]) for _ in range(count)]
        for (schema, values), response in zip(requests, checker.check(arguments.program, requests)):
            jsonschema.Draft202012Validator.check_schema(schema)
            if "schema" in response:
                # The only fault that these schemas can have.
                if any("leads back to itself" not in fault["detail"] for fault in response["schema"]):
                    raise SystemExit(f"refused: {json.dumps(schema)}\n{response}")
                refused += 1
                continue
            peer = validator(exact(schema))
            for value, faults in zip(values, response["values"]):
                if peer.is_valid(exact(value)) != (not faults):
                    raise SystemExit(f"schema: {json.dumps(schema)}\nvalue: {json.dumps(value)}\nfaults: {faults}")
                compared += 1
                valid += not faults
    print(f"{compared} pairs agree, {valid} of them valid; {refused} schemas refer to themselves and were refused")


main()
