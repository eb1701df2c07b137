import LockstepComposition

/// The type that a JSON Schema describes, as far as Swift and TypeScript can express it.
struct SchemaType: Equatable, Sendable {
  indirect enum Kind: Equatable, Sendable {
    /// Any JSON. `note` says which part of the schema the type does not express.
    case json(note: String?)
    case text
    /// A time in RFC 3339: a string with the format `date-time`.
    case time
    /// One of these strings.
    case choice([String])
    case flag
    case whole
    case number
    case array(SchemaType)
    /// An object with names that the schema does not list.
    case map(SchemaType)
    case object([SchemaTypeMember])
  }

  var kind: Kind
  /// Whether the value may also be null.
  var isNullable = false

  static let json = SchemaType(kind: .json(note: nil))

  /// Why parts of this type are any JSON. The comments of an object's members have the notes of the members.
  var notes: [String] {
    switch kind {
    case .json(let note?): [note]
    case .array(let element), .map(let element): element.notes
    default: []
    }
  }
}

struct SchemaTypeMember: Equatable, Sendable {
  let name: String
  let type: SchemaType
  let isRequired: Bool
  /// Whether only the server sets the member.
  let isReadOnly: Bool
  let description: String?
  /// The `format` of the schema, such as `date-time`.
  let format: String?
}
