import LockstepJSON

// Reads the values of keywords. Each function adds a fault and returns nil if the value is wrong.
extension SchemaCompiler {
  /// Whether the keyword at the path stands in the root schema.
  var isInRoot: Bool { pathLength == 1 }

  mutating func count(_ value: JSON) -> Int? {
    guard let number = ExactNumber(value), .signed(0) <= number, ValueTypes(of: value).contains(.integer) else {
      add("It must be a whole number of at least 0.")
      return nil
    }
    return value.int64Value.flatMap { Int(exactly: $0) } ?? .max
  }

  mutating func flag(_ value: JSON) -> Bool? {
    if value.boolValue == nil { add("It must be true or false, and is \(FaultText.type(of: value)).") }
    return value.boolValue
  }

  mutating func object(_ value: JSON) -> JSONObject? {
    if value.objectValue == nil { add("It must be an object, and is \(FaultText.type(of: value)).") }
    return value.objectValue
  }

  /// Names of members.
  mutating func names(_ value: JSON) -> [String]? {
    guard let elements = value.arrayValue else {
      add("It must be an array of strings, and is \(FaultText.type(of: value)).")
      return nil
    }
    let names = elements.compactMap(\.stringValue)
    guard names.count == elements.count else {
      add("It must be an array of strings.")
      return nil
    }
    guard Set(elements).count == names.count else {
      add("Its strings must be unique.")
      return nil
    }
    return names
  }

  /// The schema that is a member or an element of the value at the path.
  mutating func readSchema(_ schema: JSON, in token: String) -> SubschemaID {
    enter(token)
    defer { leave() }
    return readSchema(schema)
  }

  mutating func readSchemas(_ value: JSON) -> SubschemaList {
    guard let elements = value.arrayValue, !elements.isEmpty else {
      add("It must be an array of schemas with at least one.")
      return SubschemaList()
    }
    // The parts of each schema come before the list.
    let ids = elements.enumerated().map { place, element in readSchema(element, in: "\(place)") }
    return draft.addList(ids)
  }
}
