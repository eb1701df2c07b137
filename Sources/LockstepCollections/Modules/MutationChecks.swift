import LockstepJSON

/// A bug in a module: a mutation that its reactor returned cannot be stored, or data that it stored
/// cannot be read. If a transaction throws this, it changes nothing.
package struct ModuleError: Error, CustomStringConvertible {
  package let description: String

  package init(_ module: String, _ reason: String) {
    description = "a mistake in the module \(module): \(reason)"
  }
}

// These checks run before anything is written. Otherwise such a bug would show only when a past
// state is rebuilt or the store is opened again.

extension ListMutation {
  /// `checkElement` checks an element whose id is right.
  package func check(of module: String, _ checkElement: (JSONObject) throws -> Void = { _ in }) throws {
    switch self {
    case .inserted(let id, let item, _), .modified(let id, let item):
      if let wrong = ElementName.fault(of: id) { throw ModuleError(module, "the id “\(id)”: \(wrong)") }
      guard let object = item.json.objectValue, object["id"]?.stringValue?.exact == id.exact else {
        throw ModuleError(module, "the element “\(id)” has no member `id` with this value")
      }
      try checkElement(object)
    case .removed, .moved, .cleared: break
    }
  }
}

extension MapMutation {
  package func check(of module: String) throws {
    guard case .set(let key, _) = self else { return }
    if let wrong = ElementName.fault(of: key) { throw ModuleError(module, "the key “\(key)”: \(wrong)") }
  }
}
