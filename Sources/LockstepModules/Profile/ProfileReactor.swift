import LockstepCollections
import LockstepJSON
import LockstepReactor

extension UserModule {
  /// `/v1/profile`: an object with two strings.
  package static let profile: UserModule = {
    let members = ProfileReactor.fields.map { ObjectField($0, schema: ["type": "string", "pattern": #"\S"#]) }
    let fields = PayloadField<JSONObject>.profile(members)
    var module = object(
      "profile",
      members: members,
      actions: [ActionCase("save", fields) { $0 }],
      // The reactor checks the body, so that one response has all faults.
      patch: .unlisted(ActionCase("save", .unchecked(like: fields)) { $0 }),
      reactor: { _ in ProfileReactor() }
    )
    module.noun = ElementNoun(one: "Profile", many: "Profile")
    module.hasActionsRoute = false
    return module
  }()
}

extension PayloadField<JSONObject> {
  /// The fields to save, checked.
  fileprivate static func profile(_ members: [ObjectField]) -> PayloadField {
    PayloadField(members.map { SchemaMember(name: $0.name, schema: $0.schema, isRequired: false) }) { reader, _ in
      var fields = JSONObject()
      for member in members {
        guard let value = reader.value(member.name) else { continue }
        fields[member.name] = value
        if let wrong = ProfileReactor.fault(of: value) { reader.add(member.name, wrong) }
      }
      return fields
    }
  }
}

/// Decides which fields of the profile change: checks them, and sets them as values of a map. An action has
/// the fields to save. The other fields stay.
package struct ProfileReactor: ModuleReactor {
  /// The fields in the order in which clients see them.
  static let fields = ["companyName", "position"]
  package static let characters = 200

  package func mutate(_ fields: JSONObject, in profile: MapState) throws(Refusal) -> [MapMutation] {
    var saved = JSONObject()
    var faults: [FieldFault] = []
    for name in Self.fields {
      guard let value = fields[name] else { continue }
      if let wrong = Self.fault(of: value) { faults.append(FieldFault(pointer: "/\(name)", detail: wrong)) }
      // A value is saved without the white space around it.
      saved[name] = .string((value.stringValue ?? "").trimmingWhitespace())
    }
    for (name, _) in fields where !Self.fields.contains(name) {
      faults.append(FieldFault(pointer: JSONPointer(tokens: [name]).description, detail: PayloadReader.unknown))
    }
    if !faults.isEmpty { throw .invalid(faults) }
    return try ValuesReactor(.any).mutate(.merge(saved), in: profile)
  }

  fileprivate static func fault(of value: JSON) -> String? {
    guard let text = value.stringValue else { return "It must be a string, and is \(value.typeName)." }
    switch validation(of: text) {
    case .ok: return nil
    case .failed(let message): return message
    case .empty, .validating: return "It must not be empty."
    }
  }

  /// Checks the text of a field, without the white space around it.
  package static func validation(of text: String) -> ValidationResult {
    let trimmed = text.trimmingWhitespace()
    if trimmed.isEmpty { return .empty }
    // Counts Unicode scalars, because a `Character` may have any number of bytes.
    let count = trimmed.unicodeScalars.count
    guard count <= characters else {
      return .failed(message: "It must have at most \(characters) characters, and has \(count).")
    }
    return .ok
  }
}
