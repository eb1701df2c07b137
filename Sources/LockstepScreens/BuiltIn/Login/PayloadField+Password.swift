import LockstepAccounts
import LockstepCollections
import LockstepJSON

extension PayloadField {
  /// A password. No state contains it.
  static func password(_ name: String) -> PayloadField where Value == Password {
    PayloadField([SchemaMember(name: name, schema: ["type": "string", "writeOnly": true])]) { reader, _ in
      guard let text = reader.text(name) else { return nil }
      if text.utf8.count > 4_096 { reader.add(name, "It must have at most 4096 bytes, and has \(text.utf8.count).") }
      return Password(text)
    }
  }
}
