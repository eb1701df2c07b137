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

  /// Returns the document after the patch. Throws `Refusal.conflict` if a `test` fails, and
  /// `Refusal.invalid` if another operation is not possible.
  public func applied(to document: JSON) throws(Refusal) -> JSON {
    do throws(JSONPatchError) {
      return try patch.applied(to: document)
    } catch {
      if error.isFailedTest { throw .conflict("The patch's test failed: \(error.reason)") }
      throw .invalid("/\(error.operationIndex)", error.reason)
    }
  }
}
