import LockstepJSON

extension ElementFormat {
  /// The mutation that a client proposes with a standard action.
  func mutation(_ change: ListChange) throws(Refusal) -> List<Element>.Mutation {
    switch change {
    case .insert(_, let object, let index): .insert(try proposed(object), at: index)
    case .replace(_, let object, _): .replace(try proposed(object))
    case .remove(let id): .remove(id: id)
    case .move(let id, let index): .move(id: id, to: index)
    case .clear: .clear
    }
  }

  private func proposed(_ object: JSONObject) throws(Refusal) -> Element {
    do { return try decode(object) } catch { throw .invalid([FieldFault(error)]) }
  }
}
