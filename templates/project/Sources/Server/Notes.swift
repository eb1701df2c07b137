import Lockstep

/// A note. Clients get it as JSON, in the form of its `Codable` code.
struct Note: Codable, Identifiable, Equatable, Sendable {
  let id: String
  var text: String
  var isDone = false
  var createdAt: Timestamp?
}

/// The module `notes`, at `/v1/notes`. Clients can add, change, move and remove notes without
/// further code.
struct Notes: ListModule {
  typealias Element = Note
  static let name = "notes"
  static let quota = CollectionQuota(elements: 10_000)

  static let rules: [ElementRule] = [
    .bytes("text", 1...10_000),
    .default("isDone", false),
    .added("createdAt"),
  ]

  /// Decides on a change that a client proposes. Returns the mutations to make, or throws a
  /// refusal.
  func decide(_ mutation: List<Note>.Mutation, _ notes: List<Note>) throws(Refusal) -> [List<Note>.Mutation] {
    if let note = mutation.element, note.text.allSatisfy(\.isWhitespace) {
      throw .invalid("/text", "A note needs a text.")
    }
    return [mutation]
  }
}
