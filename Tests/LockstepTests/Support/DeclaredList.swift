import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepComposition
@testable import LockstepSync

extension Trait where Self == AlsoWithDeclaredList {
  /// Runs each test twice: with favorites, and with a declared list in their place.
  static var alsoWithDeclaredList: Self { AlsoWithDeclaredList() }
}

struct AlsoWithDeclaredList: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await function()
    try await SwappedWords.$current.withValue(SwappedWords("favorites", "playlists")) { try await function() }
  }
}

extension ServerFixture {
  /// Declares the list that stands for favorites.
  func declareTestedList() async throws {
    let services = try #require(running.withLock { $0?.services.users })
    let list = DeclaredCollection(name: "playlists", kind: .list, quota: configuration.favoritesQuota)
    let outcome = try await services.perform(.apply([list]), key: nil)
    #expect(outcome.json["created"] == ["playlists"])
  }
}
