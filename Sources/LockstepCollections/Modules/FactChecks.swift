import LockstepJSON

/// A mistake in a module's code: what its reactor has decided can't be kept, or what was kept can't be read. Nothing of the
/// transaction happens.
package struct ModuleError: Error, CustomStringConvertible {
  package let description: String

  package init(_ module: String, _ reason: String) {
    description = "a mistake in the module \(module): \(reason)"
  }
}

// What would be found out only when the past is rebuilt, or the store is opened again, is found out before it's written.

extension ListMutation {
  /// Throws `ModuleError` where a list of these elements couldn't be rebuilt from this fact, or would then be another.
  func check<Element: ListElement>(by type: Element.Type, of module: String) throws {
    switch self {
    case .inserted(let id, let item, _), .modified(let id, let item):
      if let wrong = ElementName.fault(of: id) { throw ModuleError(module, "the id “\(id)”: \(wrong)") }
      guard JSON(trusting: item)["id"]?.stringValue.map({ ElementKey($0) }) == ElementKey(id) else {
        throw ModuleError(module, "the element “\(id)” says another id of itself, or none")
      }
      guard let element = Element(encoded: item), element.encoded == item else {
        throw ModuleError(module, "the element “\(id)”, read again by \(Element.self), is another")
      }
    case .removed, .moved, .cleared: break
    }
  }
}

extension MapMutation {
  /// Throws `ModuleError` where a map couldn't be rebuilt from this fact, or would then be another.
  func check(of module: String) throws {
    guard case .set(let key, let value) = self else { return }
    if let wrong = ElementName.fault(of: key) { throw ModuleError(module, "the key “\(key)”: \(wrong)") }
    guard JSON(trusting: value).encoded() == value else {
      throw ModuleError(module, "the value of “\(key)” isn't JSON as this server writes it")
    }
  }
}
