import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The journal of all users", .timeLimit(.minutes(10)))
struct AdminJournalTests {
  private static let path = "/v1/admin/journal"

  private func entries(_ response: RawResponse) -> [JSON] { response.json["entries"]?.arrayValue ?? [] }

  private func ids(_ response: RawResponse) -> [String] {
    entries(response).compactMap { $0["action"]?["payload"]?["id"]?.stringValue }
  }

  /// The number of events named `entry`, and the id of the first one.
  private static func events(in text: String) -> (count: Int, id: String) {
    let lines = text.split(whereSeparator: \.isNewline)
    let ids = lines.filter { $0.hasPrefix("id: ") }
    return (lines.filter { $0 == "event: entry" }.count, ids.first.map { String($0.dropFirst(4)) } ?? "")
  }

  private func cursor(_ response: RawResponse) -> String { response.json["cursor"]?.stringValue ?? "" }

  @Test("The journal has the actions of all users in the order of their commits, with user and device")
  func order() async throws {
    try await ServerFixture.administered { users in
      let (ada, bob) = (try await users.signUp(device: "Ada's phone"), try await users.signUp("bob"))
      for (device, id) in [(ada, "a"), (bob, "b"), (ada, "c"), (users.admin, "")] where !id.isEmpty {
        try await device.addFavorites(id)
      }
      _ = try await users.admin.put(bob.administered("/favorites/d"), "{}")
      let all = try await users.admin.get(Self.path)
      #expect(all.json["reset"] == true)
      #expect(ids(all) == ["a", "b", "c", "d"])
      #expect(entries(all).map { $0["user"]?.stringValue } == [ada.user, bob.user, ada.user, bob.user])
      #expect(entries(all).map { $0["device"]?.stringValue } == ["Ada's phone", nil, "Ada's phone", nil])
      #expect(entries(all).last?["by"] == "administrator")
      // Apart from user and device, an entry is that of the user's journal.
      let own = try await ada.get("/v1/journal").json["entries"]?[0]
      #expect(own?["cursor"] == entries(all)[0]["cursor"])
      #expect(own?["mutations"] == entries(all)[0]["mutations"])
    }
  }

  @Test("Filters select a user and a collection, and pages leave no entry out")
  func filters() async throws {
    try await ServerFixture.administered { users in
      let (ada, bob) = (try await users.signUp(), try await users.signUp("bob"))
      try await ada.addFavorites("a1")
      try await bob.addFavorites("b1")
      _ = try await ada.put("/v1/defaults/standard/x", "1")
      _ = try await ada.put("/v1/defaults/other/x", "1")
      try await ada.addFavorites("a2")
      #expect(ids(try await users.admin.get("\(Self.path)?user=\(ada.user)&collection=favorites")) == ["a1", "a2"])
      #expect(entries(try await users.admin.get("\(Self.path)?collection=defaults")).count == 2)
      #expect(entries(try await users.admin.get("\(Self.path)?collection=defaults/other")).count == 1)
      for unknown in ["def", "", "favorites/x", "defaults/", "unknown"] {
        let refused = try await users.admin.get("\(Self.path)?collection=\(unknown)")
        #expect(refused.problem == ProblemSummary("invalid-parameter"), "\(unknown)")
      }

      for filter in ["", "&user=\(ada.user)", "&collection=favorites"] {
        var page = try await users.admin.get("\(Self.path)?limit=1\(filter)")
        var found: [JSON] = []
        while !entries(page).isEmpty {
          found += entries(page)
          page = try await users.admin.get("\(Self.path)?limit=1&since=\(cursor(page))\(filter)")
          #expect(page.json["reset"] == false)
        }
        let whole = try await users.admin.get("\(Self.path)?\(filter.dropFirst())")
        #expect(found == entries(whole))
      }
    }
  }

  @Test("`last` starts with the last entries, and `from` with the entry that has the cursor")
  func starts() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a", "b", "c")
      #expect(ids(try await users.admin.get("\(Self.path)?last=2")) == ["b", "c"])
      #expect(ids(try await users.admin.get("\(Self.path)?last=100000")) == ["a", "b", "c"])
      #expect(try await users.admin.get("\(Self.path)?last=1").json["reset"] == false)
      let stream = try await users.admin.waiting("\(Self.path)?last=2", ["Accept: text/event-stream"])
      let (count, id) = Self.events(in: try await stream.text(with: #""id":"c""#))
      #expect(count == 2)
      stream.close()
      let entry = try await users.admin.get("\(Self.path)?from=\(id)&limit=1")
      #expect(ids(entry) == ["b"])
      #expect(entry.json["reset"] == false)
      // The numbers in PostgreSQL are others.
      let moved = TestedStore.isSQLite ? [id.replacing(".j2.", with: ".j3.")] : []
      for unknown in ["ffffffff.j1.1-5"] + moved {
        #expect(try await users.admin.get("\(Self.path)?from=\(unknown)").json["reset"] == true, "\(unknown)")
      }
      for query in ["last=0", "last=x", "from=x", "from=now", "last=1&since=now", "from=\(id)&last=1"] {
        let refused = try await users.admin.get("\(Self.path)?\(query)")
        #expect(refused.problem == ProblemSummary("invalid-parameter"), "\(query)")
      }
    }
  }

  @Test("A request waits until an entry that it asks for is committed")
  func waiting() async throws {
    try await ServerFixture.administered { users in
      let (ada, bob) = (try await users.signUp(), try await users.signUp("bob"))
      try await ada.addFavorites("a")
      let end = cursor(try await users.admin.get("\(Self.path)?since=now"))
      let all = try await users.admin.waiting("\(Self.path)?since=\(end)&wait=50")
      let bobs = try await users.admin.waiting("\(Self.path)?since=\(end)&wait=50&user=\(bob.user)")
      await eventually { users.following == 2 }
      try await ada.addFavorites("b")
      let first = try await all.response()
      #expect(ids(first) == ["b"])
      #expect(first.field("Preference-Applied") == "wait=50")
      await eventually { users.following == 1 }
      try await bob.addFavorites("c")
      #expect(ids(try await bobs.response()) == ["c"])
      // A request counts until a moment after its response.
      await eventually { users.following == 0 }

      let late = try await users.admin.waiting("\(Self.path)?since=\(cursor(first))&wait=5&user=\(ada.user)")
      await eventually { users.following == 1 }
      users.advance(by: 6)
      let timedOut = try await late.response()
      #expect(timedOut.status == 200)
      #expect(entries(timedOut).isEmpty)
      // The cursor is past Bob's entry.
      #expect(entries(try await users.admin.get("\(Self.path)?since=\(cursor(timedOut))")).isEmpty)
    }
  }

  @Test("Events named `entry` follow without a gap, and Last-Event-ID resumes them")
  func events() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a")
      let stream = try await users.admin.waiting(Self.path, ["Accept: text/event-stream"])
      await eventually { users.following == 1 }
      try await ada.addFavorites("b")
      let (events, id) = Self.events(in: try await stream.text(with: #""id":"b""#))
      #expect(events == 2)
      stream.close()
      await eventually { users.following == 0 }

      let resumed = try await users.admin.waiting(
        "\(Self.path)?since=now",
        ["Accept: text/event-stream", "Last-Event-ID: \(id)"]
      )
      let rest = try await resumed.text(with: #""id":"b""#)
      #expect(!rest.contains(#""id":"a""#))
      resumed.close()
    }
  }

  @Test("A cursor stays valid after a restart and after the erasure of the user who wrote last")
  func cursors() async throws {
    try await ServerFixture.administered { users in
      let (ada, bob) = (try await users.signUp(), try await users.signUp("bob"))
      try await ada.addFavorites("a", "b")
      try await bob.addFavorites("c", "d")
      let end = cursor(try await users.admin.get("\(Self.path)?since=now"))
      try await users.restart()
      #expect(try await users.admin.get("\(Self.path)?since=\(end)").json["reset"] == false)
      #expect(try await users.admin.delete(bob.administered()).status == 204)
      // The numbers of the erased entries are not used again.
      try await ada.addFavorites("e")
      let next = try await users.admin.get("\(Self.path)?since=\(end)")
      #expect(next.json["reset"] == false)
      #expect(ids(next) == ["e"])
    }
  }

  @Test("An unknown cursor starts the journal at the beginning with a reset")
  func unknownCursors() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a")
      let end = cursor(try await users.admin.get("\(Self.path)?since=now"))
      let parts = end.split(separator: ".").map(String.init)
      let later = try #require(Int(parts[1].dropFirst())) + (1 << 40)
      let unknown = [
        "ffffffff.\(parts[1]).\(parts[2])", "\(parts[0]).j\(later).\(parts[2])", "\(parts[0]).\(parts[1]).1-5",
        "\(parts[0]).j1", "nonsense", "\(parts[0]).j99999999999999999999.1",
      ]
      for since in unknown {
        let response = try await users.admin.get("\(Self.path)?since=\(since)&wait=50")
        #expect(response.json["reset"] == true, "\(since)")
        #expect(ids(response) == ["a"], "\(since)")
      }
      for query in ["since=%20", "user=x", "limit=0", "limit=1001", "wait=x", "x=1", "since=a%2Fb"] {
        let response = try await users.admin.get("\(Self.path)?\(query)")
        #expect(response.problem == ProblemSummary("invalid-parameter"), "\(query)")
      }
    }
  }

  @Test("Events after a cursor that the journal does not know begin with an event `reset`")
  func resetEvents() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a")
      for (since, isReset) in [("ffffffff.j9.1-5", true), ("", false)] {
        let query = since.isEmpty ? "" : "?since=\(since)"
        let stream = try await users.admin.waiting(Self.path + query, ["Accept: text/event-stream"])
        let text = try await stream.text(with: #""id":"a""#)
        #expect(text.contains("event: reset\n") == isReset)
        #expect(Self.events(in: text).count == 1)
        stream.close()
      }
    }
  }

  @Test("After an old copy of the store was put back, a cursor from after an erasure is a reset")
  func oldCopy() async throws {
    try await ServerFixture.administered { users in
      let (ada, bob) = (try await users.signUp(), try await users.signUp("bob"))
      try await ada.addFavorites("a")
      await users.stop()
      try await users.keepCopy()
      try await users.restart()
      try await bob.addFavorites("b")
      _ = try await users.admin.delete(bob.administered())
      let end = cursor(try await users.admin.get("\(Self.path)?since=now"))
      #expect(try await users.admin.get("\(Self.path)?since=\(end)").json["reset"] == false)
      await users.stop()
      try await users.restoreCopy()
      try await users.restart()
      try await ada.addFavorites("c", "d")
      let next = try await users.admin.get("\(Self.path)?since=\(end)")
      #expect(next.json["reset"] == true)
      #expect(ids(next) == ["a", "c", "d"])
    }
  }
}
