import LockstepBuiltInScreens
import LockstepJSON
import LockstepMaintenance
import LockstepScreens

/// Checks the declarations of modules before the store is opened. An invalid declaration is a
/// mistake in the program's code.
enum ModuleCheck {
  /// The names that a module and a declared collection cannot have, because they have other routes under
  /// `/v1` or `/v1/admin/users/{id}`.
  static let reserved: Set = [
    "actions", "admin", "changes", "defaults", "email-proofs", "export", "favorites", "journal", "me",
    "password-resets", "profile", "reactors", "sessions", "users",
  ]

  static func check(_ modules: [UserModule]) throws(InvalidModuleError) {
    var names: Set<String> = []
    for module in modules {
      if let wrong = fault(ofName: module.name) { throw InvalidModuleError(module.name, wrong) }
      guard names.insert(module.name).inserted else {
        throw InvalidModuleError(module.name, "another module has the same name.")
      }
      if let mistake = module.mistake { throw InvalidModuleError(module.name, mistake) }
      try checkVerbs(of: module)
    }
  }

  private static func fault(ofName name: String) -> String? {
    if reserved.contains(name) { return "Lockstep itself serves /v1/\(name). Choose another name." }
    let letters = "abcdefghijklmnopqrstuvwxyz"
    let isPlain = name.utf8.allSatisfy((letters + letters.uppercased() + "0123456789_-").utf8.contains)
    if isPlain, let first = name.utf8.first, letters.utf8.contains(first), name.utf8.count <= 64 { return nil }
    return "its name must be a lower-case letter a-z, then up to 63 of the characters A-Z a-z 0-9 _ -"
  }

  private static func checkVerbs(of module: UserModule) throws(InvalidModuleError) {
    let types = (module.actions.arrayValue ?? []).compactMap { $0["type"]?.stringValue }
    guard Set(types).count == types.count else {
      throw InvalidModuleError(module.name, "two of its actions have the same type.")
    }
    for (verb, action) in module.verbs.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      guard action.payload != nil else {
        throw InvalidModuleError(
          module.name,
          "the verb \(verb) stands for the action “\(action.type)”, which the module does not have."
        )
      }
      let needed: Set<ExactText>
      switch (module.shape, verb) {
      case (.list, .move): needed = ["id", "index"]
      case (.list, .jsonPatch): needed = ["id", "operations"]
      case (.list, _): needed = ["id"]
      case (.map, .put): needed = ["key", "value"]
      case (.map, .delete): needed = ["key"]
      case (.object, _): needed = []
      case (.map, .patch), (.map, .jsonPatch):
        throw InvalidModuleError(module.name, "a value of a map has no members that could be patched.")
      case (.map, .move):
        throw InvalidModuleError(module.name, "the values of a map have no order.")
      }
      if let missing = needed.subtracting(action.members).min() {
        throw InvalidModuleError(
          module.name,
          "the verb \(verb) stands for the action “\(action.type)”, whose payload has no member \(missing)."
        )
      }
    }
  }
}

extension Services {
  /// The names that no collection can be declared with, besides those of the program's modules and
  /// screens.
  package static let namesWithoutDeclarations = ModuleCheck.reserved.union(UserExport.members)
    .union(BuiltInScreens.names)
}
