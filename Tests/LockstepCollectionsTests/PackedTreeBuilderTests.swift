import Testing

@testable import LockstepCollections

@Suite("Building a collection from its rows", .timeLimit(.minutes(10)))
struct PackedTreeBuilderTests {
  private func build(_ keys: [String]) -> MapState? {
    var builder = PackedTreeBuilder(CollectionMutation.Kind.map)
    for (number, key) in keys.enumerated() {
      let value = String(number)
      builder.append(key.utf8Span.span, value.utf8Span.span, revision: Revision(number: number + 1))
    }
    guard case .map(let map) = builder.state() else { return nil }
    return map
  }

  /// More keys than a leaf has room for.
  private static let sorted: [String] = (0..<100).map { "key\(100 + $0)" }
  /// The same keys, but one of them must be escaped.
  private static let quoted: [String] = sorted.map { $0.hasSuffix("20") ? $0 + "\"" : $0 }

  /// The first 64 keys, with their two leaves swapped. Each leaf is in order by itself.
  private static func swapped(_ keys: [String]) -> [String] { [String](keys[32..<64]) + keys[0..<32] }

  private static let orders: [[String]] = [
    [], ["a", "b"], ["b", "a"], ["", "\"", "\"\"", "é"], sorted, quoted, sorted.reversed(), quoted.reversed(),
    swapped(sorted), swapped(quoted),
  ]

  @Test("A map is in the order of its keys, whatever order they are appended in", arguments: orders)
  func order(keys: [String]) throws {
    let map = try #require(build(keys))
    #expect(map.values.keys.map(\.text) == keys.sorted { $0.precedesInBytes($1) })
    for (number, key) in keys.enumerated() {
      let value = try #require(map[key])
      #expect(value.encoded == Array(String(number).utf8) && value.revision == Revision(number: number + 1))
    }
    #expect(map.revision == Revision(number: keys.count))
  }

  @Test("Of two values with the same key, the last is kept")
  func duplicates() throws {
    let map = try #require(build(["a", "b", "b"]))
    #expect(map.values.keys.map(\.text) == ["a", "b"])
    #expect(map["b"]?.encoded == Array("2".utf8))
  }
}
