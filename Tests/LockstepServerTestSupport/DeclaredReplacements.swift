import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepComposition
@testable import LockstepSync

extension Trait where Self == AlsoWithDeclaredCollections {
  /// Runs each test twice. In the second run, a declared list replaces favorites, and a declared
  /// map replaces the suite `standard`.
  static var alsoWithDeclaredCollections: Self { AlsoWithDeclaredCollections() }
}

struct AlsoWithDeclaredCollections: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await function()
    try await SwappedWords.$current.withValue(.declaredReplacements) { try await function() }
  }
}

extension Trait where Self == WithoutDeclaredMap {
  /// In the second run, replaces favorites only. The test needs features that a declared map lacks:
  /// several suites, registered defaults, or actions with the member `suite`.
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
  /// The text to write as an action's module. If a declared map replaces the suite `standard`,
  /// `defaults` becomes `defaults/standard`, which `RawClient` swaps for the map's name.
  static func module(_ name: String) -> String {
    let suite = "defaults/standard"
    return name == "defaults" && current.map { $0.swapping(suite) != suite } == true ? suite : name
  }

  static let declaredReplacements = SwappedWords(["favorites": "playlists", "defaults/standard": "settingsOfTheUser"])
}

extension ServerFixture {
  /// Declares the list that replaces favorites, and the map that replaces the suite `standard`.
  func declareReplacements() async throws {
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
