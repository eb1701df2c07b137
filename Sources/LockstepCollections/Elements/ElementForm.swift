import LockstepJSON

/// How the standard actions of a list read, check and describe its elements. `ListAction` does the
/// rest, which is the same for all lists.
protocol ElementForm: Sendable {
  var members: ElementMembers { get }

  /// The JSON Schema of a stored element.
  var schema: JSON { get }

  /// Whether a stored element has the form.
  func canRead(_ encoded: [UInt8]) -> Bool

  /// The members that a client may send with an action.
  func payload(of action: StandardAction) -> [SchemaMember]

  /// Reads the content of a new element.
  func content(_ reader: inout PayloadReader) -> ElementContent

  /// Reads the members of a merge patch.
  func patch(_ reader: inout PayloadReader) -> JSONObject

  /// The content of an element after a patch. Throws all its faults. `removed` are the names of the
  /// members that the patch removes.
  func content(
    ofPatched patched: JSON,
    removed: [String],
    _ budget: WorkBudget?
  ) throws(Refusal) -> JSONObject

  /// The refusal of an action that names an element that the list does not have.
  func missing(_ id: String) -> Refusal
}

/// The part of an element that a client chooses.
struct ElementContent: Sendable {
  let members: JSONObject
  /// The faults that count only if the element is added. So a client can toggle an element away that
  /// does not fit the schema any more.
  var faults: [FieldFault] = []
}
