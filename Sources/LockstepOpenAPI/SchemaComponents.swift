import LockstepCollections
import LockstepJSON

/// The schemas of an OpenAPI document, all named, as generators of code need them.
///
/// A generator makes a type of each named schema. It has to invent names for the schemas of objects
/// that stand inside others, and some generators then make two types with one name. So each object
/// inside another schema becomes a component of its own, with a name made from its place.
///
/// Routes refer to schemas by keys, such as `Problem` or `favorites.element`. Each part of a key
/// that is made from a place is added after a dot. `named` turns keys into names such as
/// `FavoritesElement`.
struct SchemaComponents {
  private var schemas = JSONObject()

  // MARK: Adding

  /// Adds a schema under a key that routes refer to.
  mutating func add(_ key: String, _ schema: JSON) {
    // Known before its parts, so that it comes first in the document.
    if schemas[key] == nil { schemas[key] = .null }
    schemas[key] = separated(schema, key)
  }

  /// Adds the schema of a body. Returns it, or a reference if it is an object.
  mutating func addBody(_ key: String, _ schema: JSON) -> JSON {
    let isObject = schema["type"] == "object" && schema["properties"]?.objectValue?.isEmpty != true
    return isObject ? component(key, separated(schema, key)) : part(schema, key)
  }

  /// A part of a schema: a reference to a new component if the part is an object with members.
  private mutating func part(_ schema: JSON, _ key: String) -> JSON {
    let schema = separated(schema, key)
    let isObject = schema["properties"]?.objectValue?.isEmpty == false || schema["allOf"] != nil
    return isObject && schema["$ref"] == nil && !Self.hasOwnReferences(schema) ? component(key, schema) : schema
  }

  /// The schema with references to its parts.
  private mutating func separated(_ schema: JSON, _ key: String) -> JSON {
    guard var object = schema.objectValue, object["$ref"] == nil, !Self.hasOwnReferences(schema) else { return schema }
    if let members = object["properties"]?.objectValue {
      object["properties"] = .object(JSONObject(members.map { ($0.name, part($0.value, "\(key).\($0.name)")) }))
    }
    if let items = object["items"] { object["items"] = part(items, "\(key).item") }
    if let values = object["additionalProperties"] { object["additionalProperties"] = part(values, "\(key).value") }
    for keyword in ["oneOf", "anyOf"] {
      guard let choices = object[keyword]?.arrayValue else { continue }
      // The other choice is often null.
      let isOnlyObject = choices.count { $0["type"] == "object" } == 1
      object[keyword] = .array(
        choices.enumerated().map { number, choice in
          part(choice, Self.name(of: choice).map { "\(key).\($0)" } ?? (isOnlyObject ? key : "\(key).\(number + 1)"))
        }
      )
    }
    if let all = object["allOf"]?.arrayValue { object["allOf"] = .array(all.map { separated($0, key) }) }
    return .object(object)
  }

  /// Adds a component. If another one has its key, the key gets a number.
  private mutating func component(_ key: String, _ schema: JSON) -> JSON {
    var (unused, number) = (key, 1)
    while let other = schemas[unused], other != schema { (unused, number) = ("\(key).\(number + 1)", number + 1) }
    schemas[unused] = schema
    return .reference(unused)
  }

  /// The name of a choice: the values of its constant members. An action is named by its type.
  private static func name(of choice: JSON) -> String? {
    ["type", "name"].lazy.compactMap { choice["properties"]?[$0]?["const"]?.stringValue }.first
  }

  /// Whether a schema has definitions of its own. Its parts refer to them by their places, so they
  /// must stay where they are.
  private static func hasOwnReferences(_ schema: JSON) -> Bool { schema["$defs"] != nil || schema["$id"] != nil }

  // MARK: Naming

  /// The components, and the document with their names instead of their keys.
  func named(_ document: JSON) -> (schemas: JSON, document: JSON) {
    let names = self.names
    let renamed = schemas.map { (names[$0.name] ?? $0.name, Self.renaming($0.value, by: names)) }
    return (.object(JSONObject(renamed)), Self.renaming(document, by: names))
  }

  /// The names of the components by their keys. Names differ even if case is ignored, because
  /// generators also make file names of them.
  ///
  /// Keys that begin with a capital come first, so that no module can change the names of schemas
  /// that belong to no module. All names of a module begin alike: if `shopping-list` is
  /// `ShoppingList`, then a later module `shoppingList` is `ShoppingList2`.
  private var names: [String: String] {
    var (named, modules) = ([String: String](), [Substring: String]())
    var (names, moduleNames) = (UniqueNames(), UniqueNames())
    let isOfModule = { (key: String) in key.first?.isLowercase == true }
    for key in schemas.names where !isOfModule(key) { named[key] = names.add(key.inPascalCase) }
    for key in schemas.names where isOfModule(key) {
      let module = key.prefix { $0 != "." }
      let name = modules[module] ?? moduleNames.add(String(module).inPascalCase)
      modules[module] = name
      named[key] = names.add(name + String(key.dropFirst(module.count)).inPascalCase)
    }
    return named
  }

  private static func renaming(_ json: JSON, by names: [String: String]) -> JSON {
    if let array = json.arrayValue { return .array(array.map { renaming($0, by: names) }) }
    guard let object = json.objectValue else { return json }
    return .object(
      JSONObject(
        object.map { name, value in
          switch name {
          case "$ref": (name, renamed(value, by: names))
          case "mapping" where object["propertyName"] != nil:
            (name, .object(JSONObject((value.objectValue ?? [:]).map { ($0.name, renamed($0.value, by: names)) })))
          default: (name, renaming(value, by: names))
          }
        }
      )
    )
  }

  private static func renamed(_ reference: JSON, by names: [String: String]) -> JSON {
    let prefix = "#/components/schemas/"
    guard let text = reference.stringValue, text.hasPrefix(prefix),
      let name = names[String(text.dropFirst(prefix.count))]
    else { return reference }
    return .string(prefix + name)
  }
}

/// Names of which no two are equal, even if case is ignored.
struct UniqueNames {
  private var taken: Set<String> = []

  /// Adds a name. If it is taken, adds and returns it with a number: `Notes2`.
  mutating func add(_ name: String) -> String {
    var (unique, number) = (name, 1)
    while !taken.insert(unique.lowercased()).inserted {
      number += 1
      unique = "\(name)\(number)"
    }
    return unique
  }
}

extension String {
  /// `shopping-list.element` as `ShoppingListElement`. Other characters than letters and digits of
  /// ASCII are left out.
  package var inPascalCase: String {
    split { !$0.isASCII || !($0.isLetter || $0.isNumber) }.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }
}

extension JSON {
  /// A schema with these choices. The member `member`, a constant in each, tells which one applies.
  package static func oneOf(_ choices: [(value: String, key: String)], by member: String) -> JSON {
    let references = choices.map { JSON.reference($0.key) }
    // Some generators refuse a discriminator between fewer than two choices.
    guard choices.count > 1 else { return ["oneOf": .array(references)] }
    let mapping = JSONObject(choices.map { ($0.value, JSON.string("#/components/schemas/\($0.key)")) })
    return [
      "oneOf": .array(references), "discriminator": ["propertyName": .string(member), "mapping": .object(mapping)],
    ]
  }
}
