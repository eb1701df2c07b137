import LockstepCollections
import LockstepJSON
import LockstepReactor

/// An action on a user's profile.
package enum ProfileAction: Sendable {
  /// Saves the given fields. The other fields stay.
  case save(JSONObject)

  /// The actions that `POST /v1/actions` accepts.
  static let cases = [
    ActionCase<ProfileAction>(
      "save",
      PayloadField(schemaMembers) { reader, _ in reader.members(ProfileReactor.fields) }
    ) { .save($0) }
  ]

  /// The schemas of the fields. The reactor checks the values.
  package static let schemaMembers = ProfileReactor.fields.map {
    SchemaMember(name: $0, schema: ["type": "string", "pattern": #"\S"#], isRequired: false)
  }

  /// The journal's record of the action.
  var record: JSON {
    switch self {
    case .save(let fields): ["type": "save", "payload": .object(fields)]
    }
  }
}

/// Decides on actions for a user's profile, a map with two fields.
package struct ProfileReactor: Reactor {
  package static let collection = CollectionName("profile")
  /// The fields of a profile, in the order in which clients see them.
  package static let fields = ["companyName", "position"]
  static let characters = 200

  package var initialState: MapState { MapState() }

  package func mutate(_ action: ProfileAction, in state: MapState) -> Effect<MapMutation> {
    switch action {
    case .save(let fields):
      do {
        return .of(contentsOf: try changes(to: fields, in: state))
      } catch {
        return .failure(error)
      }
    }
  }

  package static func reduce(_ state: inout MapState, _ mutation: MapMutation) { state.apply(mutation) }

  private func changes(to fields: JSONObject, in state: MapState) throws(Refusal) -> [MapMutation] {
    var mutations: [MapMutation] = []
    var faults: [FieldFault] = []
    for name in Self.fields {
      guard let value = fields[name] else { continue }
      do throws(ProfileFieldFault) {
        let checked = EncodedJSON(.string(try Self.checked(value)))
        if state[name]?.encoded != checked.encoded { mutations.append(.set(key: name, value: checked)) }
      } catch {
        faults.append(FieldFault(pointer: "/\(name)", detail: error.detail))
      }
    }
    for (name, _) in fields where !Self.fields.contains(name) {
      faults.append(FieldFault(pointer: JSONPointer(tokens: [name]).description, detail: PayloadReader.unknown))
    }
    if !faults.isEmpty { throw .invalid(faults) }
    return mutations
  }

  /// A field's value without surrounding white space, as it is saved.
  private static func checked(_ value: JSON) throws(ProfileFieldFault) -> String {
    guard let text = value.stringValue else {
      throw ProfileFieldFault(detail: "It must be a string, and is \(value.typeName).")
    }
    let trimmed = text.trimmingWhitespace()
    switch validation(of: trimmed) {
    case .ok: return trimmed
    case .failed(let message): throw ProfileFieldFault(detail: message)
    case .empty, .validating: throw ProfileFieldFault(detail: "It must not be empty.")
    }
  }

  /// Checks a text for a field, without its surrounding white space.
  package static func validation(of text: String) -> ValidationResult {
    let trimmed = text.trimmingWhitespace()
    if trimmed.isEmpty { return .empty }
    // Counts scalars, which have at most four bytes each. A character can have any number of them.
    let count = trimmed.unicodeScalars.count
    guard count <= characters else {
      return .failed(message: "It must have at most \(characters) characters, and has \(count).")
    }
    return .ok
  }
}

/// The fault of a profile's field.
private struct ProfileFieldFault: Error {
  let detail: String
}

extension String {
  /// The text without surrounding white space.
  func trimmingWhitespace() -> String {
    var rest = Substring(self)
    while let first = rest.first, first.isWhitespace { rest.removeFirst() }
    while let last = rest.last, last.isWhitespace { rest.removeLast() }
    return String(rest)
  }
}
