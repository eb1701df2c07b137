import LockstepJSON

/// A mistake in a module's code: what its reactor has decided can't be kept, or what was kept can't be read. Nothing of the
/// transaction happens.
package struct ModuleError: Error, CustomStringConvertible {
  package let description: String

  package init(_ module: String, _ reason: String) {
    description = "a mistake in the module \(module): \(reason)"
  }
}

// A mistake that would show only when the past is rebuilt, or when the store is opened again, is
// found before anything is written.

extension ListMutation {
  /// Throws `ModuleError` if a list of these elements cannot be rebuilt from this mutation.
  package func check<Element: ListElement>(by type: Element.Type, of module: String) throws {
    switch self {
    case .inserted(let id, let item, _), .modified(let id, let item):
      if let wrong = ElementName.fault(of: id) { throw ModuleError(module, "the id “\(id)”: \(wrong)") }
      guard let object = item.json.objectValue,
        object["id"]?.stringValue.map({ ElementKey($0) }) == ElementKey(id)
      else { throw ModuleError(module, "the element “\(id)” has another id as its member, or none") }
      guard let element = Element(object), element.json == item.json else {
        throw ModuleError(module, "the element “\(id)”, read again by \(Element.self), is another")
      }
    case .removed, .moved, .cleared: break
    }
  }
}

extension MapMutation {
  /// Throws `ModuleError` if a map cannot be rebuilt from this mutation.
  package func check(of module: String) throws {
    guard case .set(let key, _) = self else { return }
    if let wrong = ElementName.fault(of: key) { throw ModuleError(module, "the key “\(key)”: \(wrong)") }
  }
}
