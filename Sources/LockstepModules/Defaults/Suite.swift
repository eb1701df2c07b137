import LockstepCollections
import LockstepJSON

/// A suite of a user's defaults: one of the collections of the module `defaults`.
package enum Suite {
  /// The suite of an action that names no suite.
  package static let standard = "standard"

  package static func collection(_ suite: String) -> CollectionName { CollectionName("defaults", part: suite) }

  /// The fault of a name, or `nil` if the name is valid.
  package static func fault(of text: String) -> String? {
    let isPlain = text.utf8.allSatisfy { $0.isWordCharacter || $0 == UInt8(ascii: ".") }
    return isPlain && (1...128).contains(text.utf8.count)
      ? nil : "The name of a suite has 1 to 128 of the characters A-Z a-z 0-9 . _ -"
  }
}

extension PayloadField<String?> {
  /// The suite of an action on defaults.
  static var suite: PayloadField {
    let schema: JSON = [
      "type": ["string", "null"], "pattern": "^[A-Za-z0-9._-]{1,128}$", "default": .string(Suite.standard),
    ]
    return PayloadField([SchemaMember(name: "suite", schema: schema, isRequired: false)]) { reader, _ in
      reader.suite()
    }
  }
}

extension PayloadReader {
  fileprivate mutating func suite() -> String {
    guard let value = value("suite"), !value.isNull else { return Suite.standard }
    guard let name = value.stringValue else {
      add("suite", "It must be a string, and is \(value.typeName).")
      return Suite.standard
    }
    if let wrong = Suite.fault(of: name) { add("suite", wrong) }
    return name
  }
}
