/// The keywords that schemas may use.
enum Keyword: String {
  case type, const
  case choices = "enum"
  case minLength, maxLength, format
  case minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf
  case items, prefixItems, contains, minItems, maxItems, uniqueItems
  case properties, required, additionalProperties, minProperties, maxProperties, dependentRequired
  case allOf, anyOf, oneOf, not, then
  case condition = "if"
  case otherwise = "else"
  case reference = "$ref"
  case definitions = "$defs"
  case schema = "$schema"
  case comment = "$comment"
  case title, description, examples, deprecated, readOnly, writeOnly
  case defaultValue = "default"

  /// The values of `$schema` that mean JSON Schema 2020-12.
  static let dialects = [
    "https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#",
  ]

  /// Other keywords of JSON Schema 2020-12 and of earlier versions.
  static let unsupported: Set = [
    "$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveAnchor", "$recursiveRef", "$vocabulary",
    "additionalItems", "contentEncoding", "contentMediaType", "contentSchema", "definitions", "dependencies",
    "dependentSchemas", "id", "maxContains", "minContains", "pattern", "patternProperties", "propertyNames",
    "unevaluatedItems", "unevaluatedProperties",
  ]
}
