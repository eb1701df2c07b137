/// The limits of schemas and of checks, so that no schema and no value takes much time or memory.
package enum SchemaLimit {
  /// The greatest size of a schema in bytes, as compact JSON.
  package static let bytes = 65_536
  /// The greatest nesting depth of a schema, its objects and arrays counted. The values in `const`,
  /// `enum` and annotations count too.
  package static let depth = 64
  /// The greatest number of schemas in a schema, itself included. `true`, `false` and `{}` do not count.
  package static let subschemas = 2_000
  /// The greatest number of entries in `$defs`.
  package static let definitions = 256
  /// The greatest number of values in an `enum`.
  package static let choices = 1_000
  /// How many schemas may apply to the same value, one inside the other, for example by a `$ref` in an
  /// `allOf` in a `then`.
  package static let chain = 64
  /// The greatest number of faults that are listed.
  package static let faults = 100
  /// No further faults are listed once the pointers and details of the listed ones have this many bytes.
  package static let faultBytes = 65_536

  /// How many steps a check may take. A step is a schema that is applied to a value, a member that is
  /// looked up, a value that is compared, or 16 bytes of a string. A million steps take 10 to 40 ms.
  package static let steps = 1_000_000
  /// How many schemas may be applied inside each other during a check: four at each level of a value
  /// with the parser's default depth of 128. It bounds the stack that a check needs, to less than
  /// 400 KiB in a release build.
  package static let nesting = 512
}
