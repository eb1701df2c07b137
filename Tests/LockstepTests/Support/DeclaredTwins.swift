import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepComposition
@testable import LockstepSync

extension Trait where Self == AlsoWithDeclaredTwins {
  /// Runs each test twice: the second time, a declared list stands for favorites, and a declared map for the
  /// suite `standard`.
  static var alsoWithDeclaredTwins: Self { AlsoWithDeclaredTwins() }
}

struct AlsoWithDeclaredTwins: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await function()
    try await SwappedWords.$current.withValue(.declaredTwins) { try await function() }
  }
}

extension Trait where Self == WithoutDeclaredMap {
  /// Only a declared list stands for another collection, because the test needs what a map does not have:
  /// several suites, registered defaults, or actions with the name of a suite.
  static var withoutDeclaredMap: Self { WithoutDeclaredMap() }
}

struct WithoutDeclaredMap: TestTrait, TestScoping {
  func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    let words = SwappedWords.current.map { _ in SwappedWords(["favorites": "playlists"]) }
    try await SwappedWords.$current.withValue(words) { try await function() }
  }
}

extension SwappedWords {
  /// The module that an action names: `defaults`, or the declared map that stands for its suite `standard`.
  static func module(_ name: String) -> String {
    let suite = "defaults/standard"
    return name == "defaults" && current.map { $0.swapping(suite) != suite } == true ? suite : name
  }

  static let declaredTwins = SwappedWords(["favorites": "playlists", "defaults/standard": "settingsOfTheUser"])
}

extension ServerFixture {
  /// Declares the list that stands for favorites, and the map that stands for the suite `standard`.
  func declareTwins() async throws {
    let services = try #require(running.withLock { $0?.services.users })
    let list = DeclaredCollection(name: "playlists", kind: .list, quota: configuration.favoritesQuota)
    let quota = configuration.defaultsQuota
    let map = DeclaredCollection(
      name: "settingsOfTheUser",
      kind: .map,
      quota: CollectionQuota(elements: quota.keys, bytes: quota.bytes)
    )
    let outcome = try await services.perform(.apply([list, map]), key: nil)
    #expect(outcome.json["created"] == ["playlists", "settingsOfTheUser"])
  }
}
