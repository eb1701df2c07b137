import LockstepBuiltInScreens
import LockstepScreens

/// Checks the declarations of screens when the server starts. An invalid declaration is a mistake in
/// the program's code.
enum ScreenCheck {
  static func check(_ screens: [ScreenDeclaration], modules: [UserModule]) throws(InvalidScreenError) {
    var names: Set<String> = []
    let collections = Set(["favorites", "profile", "defaults"] + modules.map(\.name))
    for screen in screens {
      func fault(_ text: String) -> InvalidScreenError { InvalidScreenError(screen.name, text) }
      if BuiltInScreens.names.contains(screen.name) {
        throw fault("Lockstep itself has a screen with this name. Choose another name.")
      }
      if collections.contains(screen.name) { throw fault("a module has the same name. Choose another name.") }
      guard isValid(screen.name) else {
        throw fault("its name must be a lower-case letter a-z, then up to 63 of the characters A-Z a-z 0-9 _ -")
      }
      guard names.insert(screen.name).inserted else { throw fault("another screen has the same name.") }
      let types = (screen.actions.arrayValue ?? []).compactMap { $0["type"]?.stringValue }
      guard Set(types).count == types.count else { throw fault("two of its actions have the same type.") }
      if let repetition = screen.repetition { throw fault(repetition) }
      for followed in screen.follows where !isCollection(followed, of: collections) {
        throw fault(
          "it follows “\(followed)”, and there is no such collection. Name a module, such as favorites, or a suite, "
            + "such as defaults/standard. Name a collection that is declared without code in followsDeclared."
        )
      }
      for declared in screen.followsDeclared {
        if let wrong = DeclaredCollection.fault(ofName: declared) {
          throw fault("it follows “\(declared)”, which cannot be the name of a declared collection. \(wrong)")
        }
        if collections.contains(declared) {
          throw fault("it follows “\(declared)” as a declared collection, but it is a module. Name it in follows.")
        }
      }
    }
  }

  private static func isValid(_ name: String) -> Bool {
    let letters = "abcdefghijklmnopqrstuvwxyz"
    guard let first = name.utf8.first, letters.utf8.contains(first), name.utf8.count <= 64 else { return false }
    return name.utf8.allSatisfy((letters + letters.uppercased() + "0123456789_-").utf8.contains)
  }

  /// Only the module `defaults` has several collections.
  private static func isCollection(_ name: String, of modules: Set<String>) -> Bool {
    let parts = name.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    return modules.contains(String(parts[0])) && (parts.count == 2) == (parts[0] == "defaults") && parts.last != ""
  }
}
