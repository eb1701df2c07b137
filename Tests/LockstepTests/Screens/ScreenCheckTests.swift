import LockstepReactor
import Testing

@testable import Lockstep
@testable import LockstepCollections
@testable import LockstepScreens

@Suite("Invalid screens are refused when the server starts", .timeLimit(.minutes(10)))
struct ScreenCheckTests {
  private static func screen(_ name: String, follows: [String] = [], types: [String] = ["add"]) -> ScreenDeclaration {
    .user(name, follows: follows, actions: types.map { ActionCase($0) { 1 } }, state: .count) { _, _ in Counter() }
  }

  private static func check(_ screens: ScreenDeclaration...) throws(InvalidScreenError) {
    try ScreenCheck.check(screens, modules: [])
  }

  @Test("A built-in screen's name is refused, and so is a module's name", arguments: ScreenServices.names.sorted())
  func taken(name: String) throws {
    #expect(throws: InvalidScreenError(name, "Lockstep itself has a screen with this name. Choose another name.")) {
      try Self.check(Self.screen(name))
    }
    #expect(throws: InvalidScreenError("favorites", "a module has the same name. Choose another name.")) {
      try Self.check(Self.screen("favorites"))
    }
    #expect("\(InvalidScreenError(name, "x"))" == "The screen “\(name)” cannot be served: x")
  }

  @Test("Names are plain, and two screens do not share one", arguments: ["", "A", "1a", "a b", "ä", "a/b"])
  func names(name: String) throws {
    let plain = "its name must be a lower-case letter a-z, then up to 63 of the characters A-Z a-z 0-9 _ -"
    #expect(throws: InvalidScreenError(name, plain)) { try Self.check(Self.screen(name)) }
    #expect(throws: InvalidScreenError("a", "another screen has the same name.")) {
      try Self.check(Self.screen("a"), Self.screen("b"), Self.screen("a"))
    }
    #expect(throws: InvalidScreenError("a", "two of its actions have the same type.")) {
      try Self.check(Self.screen("a", types: ["x", "y", "x"]))
    }
    try Self.check(Self.screen("a"), Self.screen("aB-_9"))
  }

  @Test(
    "A screen can follow collections that exist only",
    arguments: ["shopping", "defaults", "profile/x", "defaults/"]
  )
  func follows(name: String) throws {
    let reason =
      "it follows “\(name)”, and there is no such collection. Name a module, such as favorites, or a suite, such as "
      + "defaults/standard."
    #expect(throws: InvalidScreenError("a", reason)) { try Self.check(Self.screen("a", follows: ["favorites", name])) }
    try Self.check(Self.screen("a", follows: ["favorites", "profile", "defaults/standard", "defaults/game"]))
  }

  @Test("The server checks its screens before it opens the store")
  func services() throws {
    #expect(throws: InvalidScreenError.self) {
      try Services.durable(Configuration(), screens: [Self.screen("login")], time: .system)
    }
  }
}

/// Adds up its actions.
private struct Counter: Reactor {
  var initialState: Int { 0 }

  static func reduce(_ state: inout Int, _ mutation: Int) { state += mutation }
}
