import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepSync

@Suite("Pages of the journal are limited in bytes", .timeLimit(.minutes(10)))
struct JournalPageTests {
  /// Reads the journal page by page until one is empty. Returns the length of each page, and the
  /// result of `tell` for each of its entries.
  private static func pages<Entry>(
    _ device: Device,
    limit: Int,
    _ tell: (JSON) -> Entry
  ) async throws -> [(bytes: Int, entries: [Entry])] {
    var pages: [(bytes: Int, entries: [Entry])] = []
    var since = ""
    while true {
      let response = try await device.get("/v1/journal?limit=\(limit)\(since)")
      let document = response.json
      pages.append((response.body.count, (document["entries"]?.arrayValue ?? []).map(tell)))
      since = "&since=\(document["cursor"]?.stringValue ?? "")"
      if pages.last?.entries.isEmpty != false { return pages }
    }
  }

  @Test("Long entries make more pages, and a client that reads up to the empty page gets all of them")
  func longEntries() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for number in 0..<24 {
        let value = #""\#(number) \#(String(repeating: "x", count: 240_000))""#
        #expect(try await ada.put("/v1/defaults/standard/k", value).status < 300)
      }
      let pages = try await Self.pages(ada, limit: 1_000) { entry in
        entry["mutations"]?[0]?["payload"]?["value"]?.stringValue.map { $0.prefix { $0 != " " } }
      }
      #expect(pages.allSatisfy { $0.bytes <= JournalPage.bytes + 1_024 }, "\(pages.map(\.bytes))")
      #expect(pages.dropLast().allSatisfy { $0.entries.count > 1 })
      #expect(pages.flatMap(\.entries) == (0..<24).map { Substring("\($0)") })
    }
  }

  @Test("A transaction that is longer than a page is a page of its own")
  func longTransaction() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      _ = try await ada.put("/v1/favorites/a", #"{"data":"\#(String(repeating: "x", count: 15_000))"}"#)
      // The actions are short, but each mutation contains the whole favorite.
      let titles = (0..<400).map { ActionsRouteTests.action("favorites", "update", #"{"id":"a","title":"\#($0)"}"#) }
      #expect(try await ada.post("/v1/actions", ActionsRouteTests.batch(titles)).status == 200)
      _ = try await ada.delete("/v1/favorites/a")
      for limit in [1, 1_000] {
        let pages = try await Self.pages(ada, limit: limit) { $0["cursor"]?.stringValue }
        #expect(pages.map(\.entries.count) == [1, 400, 1, 0], "\(limit)")
        #expect(pages.map { Set($0.entries).count } == [1, 1, 1, 0])
      }
    }
  }
}
