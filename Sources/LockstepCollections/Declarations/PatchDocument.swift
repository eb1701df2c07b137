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

  /// The patch after which a document has these members alone.
  package init(replacingAllBy members: JSONObject) throws(Refusal) {
    try self.init([["op": "replace", "path": "", "value": .object(members)]])
  }

  /// The document after the patch. A `test` that fails is a conflict; an operation that cannot be done is a fault.
  public func applied(to document: JSON) throws(Refusal) -> JSON {
    do throws(JSONPatchError) {
      return try patch.applied(to: document)
    } catch {
      if error.isFailedTest { throw .conflict("The patch's test failed: \(error.reason)") }
      throw .invalid("/\(error.operationIndex)", error.reason)
    }
  }
}
