import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
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

  @Test("A page that ends with a long entry is valid JSON, even if the next entry does not fit")
  func endsWithSlice() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let value = #"{"v":"\#(String(repeating: "x", count: 250_000))"}"#
      for number in 0..<9 {
        #expect(try await ada.put("/v1/defaults/standard/k\(number)", value).status < 300)
      }
      let cursor = try #require(try await ada.get("/v1/defaults/standard").cursor)
      // Each of these entries contains all nine values.
      for number in 0..<3 {
        let patch = (0..<9).map { #""k\#($0)":{"n":\#(number)}"# }.joined(separator: ",")
        let type = "Content-Type: application/merge-patch+json"
        #expect(try await ada.patch("/v1/defaults/standard", "{\(patch)}", [type]).status < 300)
      }
      var (since, pages) = (cursor, [Int]())
      while pages.last != 0 {
        let response = try await ada.get("/v1/journal?since=\(since)")
        let document = try JSON(parsing: response.body)
        pages.append(try #require(document["entries"]?.arrayValue?.count))
        since = try #require(document["cursor"]?.stringValue)
      }
      #expect(pages == [1, 1, 1, 0])
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

  @Test("A page of many slices has the same entries as pages of one entry, and a short page has a Content-Length")
  func slices() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let seed = UInt64.random(in: .min ... .max)
      var random = SeededNumbers(seed: seed)
      _ = try await ada.put("/v1/defaults/s/short", "1")
      for number in 0..<60 {
        // Some transactions of several actions, some entries that are longer than a slice.
        let lengths = (0...random.below(4)).map { _ in random.once(in: 24) ? 90_000 : 10 + random.below(6_000) }
        let actions = lengths.enumerated().map { key, length in
          let payload = #"{"suite":"s","key":"\#(key)","value":"\#(number)\#(String(repeating: "x", count: length))"}"#
          return ActionsRouteTests.action("defaults", "set", payload)
        }
        #expect(try await ada.post("/v1/actions", ActionsRouteTests.batch(actions)).status == 200)
      }
      let short = try await ada.get("/v1/journal?limit=1")
      #expect(short.field("Content-Length") == "\(short.body.count)")
      let singles = try await Self.pages(ada, limit: 1) { $0 }.flatMap(\.entries)
      for limit in [7, 50, 1_000] {
        let pages = try await Self.pages(ada, limit: limit) { $0 }
        let isEqual = pages.flatMap(\.entries) == singles
        #expect(isEqual, "\(limit), seed \(seed)")
      }
      let whole = try await ada.get("/v1/journal?limit=1000")
      #expect(whole.body.count > 3 * JournalSlice.bytes)
      #expect(whole.field("Transfer-Encoding") == "chunked")
      #expect(whole.json["cursor"]?.stringValue == whole.cursor)
      #expect(try await ada.ask("HEAD", "/v1/journal?limit=1000").status == 200)
      let gzipped = try await ada.get("/v1/journal?limit=1000", ["Accept-Encoding: gzip"])
      #expect(gzipped.field("Content-Encoding") == "gzip")
      let isEqual = try gunzipped(gzipped.body) == whole.body
      #expect(isEqual)
    }
  }

  @Test(
    "If the rest of a page is erased or pruned between two slices, the page ends without its last chunk",
    arguments: ["erased", "pruned"]
  )
  func goneBetweenSlices(cause: String) async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      // One transaction, because a page of several fits into the buffers of the kernel.
      let before = try await ada.put("/v1/favorites/a", #"{"data":"\#(String(repeating: "x", count: 16_000))"}"#)
      let since = try #require(before.cursor)
      let titles = (0..<500).map { ActionsRouteTests.action("favorites", "update", #"{"id":"a","title":"\#($0)"}"#) }
      #expect(try await ada.post("/v1/actions", ActionsRouteTests.batch(titles)).status == 200)
      _ = try await ada.delete("/v1/favorites/a")
      // The client does not read yet, and the buffers are too small for the whole page.
      let client = try RawClient(
        port: try #require(users.running.withLock { $0 }).address.port,
        receiveBuffer: 16 * 1024
      )
      let target = "/v1/journal?limit=1000&since=\(since)"
      try await client.send(StubbedServer.request("GET", target, ["Authorization: Bearer \(ada.token)"]))
      try await client.receive(until: #""entries":["#)
      if cause == "erased" {
        #expect(try await ada.ask("DELETE", "/v1/me", #"{"password":"\#(ServerFixture.password)"}"#).status == 204)
      } else {
        // The last entry is never pruned.
        try await users.deleteJournal(upTo: 2)
      }
      let rest = try await client.readToEnd()
      let isWhole = rest.hasSuffix("0\r\n\r\n")
      #expect(!isWhole)
    }
  }
}
