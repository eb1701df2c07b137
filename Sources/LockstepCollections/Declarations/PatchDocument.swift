import LockstepJSON

/// A JSON patch (RFC 6902).
public struct PatchDocument: Sendable {
  /// The patch as the client sent it, for the journal.
  public let json: JSON
  private let patch: JSONPatch

  package init(_ json: JSON) throws(Refusal) {
    do throws(JSONPatchFormatError) {
      patch = try JSONPatch(parsing: json)
    } catch {
      throw .invalid(error.faults.map { FieldFault(pointer: $0.pointer.description, detail: $0.detail) })
    }
    self.json = json
  }

  /// A patch that replaces a whole document with these members.
  package init(replacingAllBy members: JSONObject) throws(Refusal) {
    try self.init([["op": "replace", "path": "", "value": .object(members)]])
  }

  /// The names of the members of the document that the patch can read or change, in ascending order. Nil
  /// if the patch names the whole document.
  package var memberNames: [String]? {
    var names: Set<ElementKey> = []
    for operation in patch.operations {
      for pointer in operation.pointers {
        guard let name = pointer.tokens.first else { return nil }
        names.insert(ElementKey(name))
      }
    }
    return names.sorted().map(\.text)
  }

  /// Returns the document after the patch. Throws `Refusal.conflict` if a `test` fails, and
  /// `Refusal.invalid` if another operation is not possible.
  public func applied(to document: JSON) throws(Refusal) -> JSON { try applied(to: document, budget: nil) }

  /// Like `applied(to:)`. Takes the steps from a budget, which may be exhausted after that.
  package func applied(to document: JSON, budget: WorkBudget?) throws(Refusal) -> JSON {
    if let budget, budget.isExhausted { return document }
    var work = budget?.units ?? .max
    defer { budget?.leave(units: work) }
    do throws(JSONPatchError) {
      return try patch.applied(to: document, work: &work)
    } catch {
      if error.isFailedTest { throw .conflict("The patch's test failed: \(error.reason)") }
      throw .invalid("/\(error.operationIndex)", error.reason)
    }
  }
}
