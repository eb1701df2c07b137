import LockstepHTTP
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepCollections
@testable import LockstepRoutes
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Lists with conditions and in another order", .timeLimit(.minutes(10)), .alsoWithDeclaredCollections)
struct ListQueryTests {
  /// A path with these parameters, percent-encoded.
  private static func path(_ list: String = "/v1/favorites", _ parameters: (String, String)...) -> String {
    list + "?" + parameters.map { "\($0.0)=\(PercentEncoding.text($0.1))" }.joined(separator: "&")
  }

  private static func ids(_ response: RawResponse) -> [String] {
    (response.json["items"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue }
  }

  /// Five favorites: their ratings are 3, 5, none, 4 and 5. `b` and `e` are done.
  private static func fill(_ device: Device) async throws {
    for (id, body) in [
      ("a", #"{"title":"Aurora","data":{"done":false,"rating":3,"tags":["sky","night"]}}"#),
      ("b", #"{"title":"Beach & sea","data":{"done":true,"rating":5}}"#), ("c", #"{"title":"Cave"}"#),
      ("d", #"{"title":"Dune","data":{"done":false,"rating":4,"tags":[]}}"#),
      ("e", #"{"data":{"done":true,"rating":5}}"#),
    ] {
      device.users.time.advance(by: 1)
      try #require(try await device.put("/v1/favorites/\(id)", body).status == 201)
    }
  }

  private static func run(_ body: (ServerFixture, Device) async throws -> Void) async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await fill(ada)
      try await body(users, ada)
    }
  }

  @Test("Conditions select elements, all must hold, and the count is of the matches")
  func conditions() async throws {
    try await Self.run { _, ada in
      for (query, expected) in [
        ("where=data.done:eq:false", ["a", "d"]), ("where=data.done:ne:false", ["b", "c", "e"]),
        ("where=data.rating:ge:4&where=data.done:eq:true", ["b", "e"]), ("where=data.rating:lt:4", ["a"]),
        ("where=title:eq:Cave", ["c"]), ("where=title:eq:%22Cave%22", ["c"]), ("where=title:has:%26+s", ["b"]),
        ("where=title:prefix:D", ["d"]), ("where=id:in:%5B%22a%22,%22e%22,%22x%22%5D", ["a", "e"]),
        (#"where=id:in:["a","c"]"#, ["a", "c"]), ("where=data.tags:has:sky", ["a"]),
        ("where=data.tags.1:eq:night", ["a"]),
        ("where=data:ne:1&where=title:ne:Cave", ["a", "b", "d", "e"]), ("where=title:lt:Z&prefix=b", ["b"]),
        ("prefix=&where=data.done:eq:true", ["b", "e"]), ("where=addedAt:gt:1994-11-06T08:49:40.000Z", ["d", "e"]),
        ("where=addedAt:prefix:1994-11-06", ["a", "b", "c", "d", "e"]), ("where=title:eq:none", []),
      ] {
        let response = try await ada.get("/v1/favorites?\(query)")
        #expect(response.status == 200, "\(query) \(response.text)")
        #expect(Self.ids(response) == expected, "\(query)")
        #expect(response.json["count"]?.intValue == expected.count, "\(query)")
        #expect(response.json["cursor"]?.stringValue == response.tag)
        let head = try await ada.ask("HEAD", "/v1/favorites?\(query)")
        #expect(head.status == 200 && head.tag == response.tag && head.body.isEmpty)
        #expect(head.field("Content-Length") == "\(response.body.count)")
        #expect(try await ada.get("/v1/favorites?\(query)", ["If-None-Match: *"]).status == 304)
        let again = try await ada.get("/v1/favorites?\(query)", ["If-None-Match: \(response.field("ETag") ?? "")"])
        #expect(again.status == 304 && again.body.isEmpty)
      }
    }
  }

  @Test("An order sorts the whole list or the matches, and pages of it")
  func order() async throws {
    try await Self.run { _, ada in
      for (query, expected) in [
        ("sort=-data.rating", ["b", "e", "d", "a", "c"]), ("sort=data.rating", ["a", "d", "b", "e", "c"]),
        ("sort=-data.rating,-addedAt", ["e", "b", "d", "a", "c"]), ("sort=title", ["a", "b", "c", "d", "e"]),
        ("sort=data.done,-id", ["d", "a", "e", "b", "c"]), ("sort=-updatedAt", ["e", "d", "c", "b", "a"]),
        ("sort=-data.rating&where=data.done:eq:false", ["d", "a"]), ("sort=-id&prefix=b", ["b"]),
        ("sort=-data.rating&limit=2", ["b", "e"]), ("sort=-data.rating&limit=2&after=e", ["d", "a"]),
        ("sort=-data.rating&after=c", []), ("sort=-data.rating&where=data.done:eq:true&after=b", ["e"]),
      ] {
        let response = try await ada.get("/v1/favorites?\(query)")
        #expect(Self.ids(response) == expected, "\(query)")
      }
      #expect(try await ada.get("/v1/favorites?sort=-data.rating&limit=2").json["count"] == 5)
    }
  }

  @Test("Links lead through all pages of one state, with the conditions and the order, while the list changes")
  func pages() async throws {
    try await Self.run { _, ada in
      let conditions = [
        ("where", #"title:ne:"100% & = + # ü""#), ("where", "data.rating:ge:3"), ("sort", "-data.rating,title"),
      ]
      let path = Self.path("/v1/favorites", conditions[0], conditions[1], conditions[2], ("limit", "1"))
      var (page, found) = (try await ada.get(path), [String]())
      for step in 0..<4 {
        found += Self.ids(page)
        #expect(page.json["count"] == 4)
        // Each change would move an element over the border of the pages.
        _ = try await ada.put("/v1/favorites/\(found.last ?? "")", #"{"data":{"rating":1}}"#)
        _ = try await ada.put("/v1/favorites/new\(step)", #"{"title":"A","data":{"rating":9}}"#)
        guard let next = page.nextLink else { break }
        #expect(
          next.contains("where=title%3Ane%3A%22100%25%20%26%20%3D%20%2B%20%23%20%C3%BC%22&where=data.rating%3Age%3A3")
        )
        #expect(next.contains("&sort=-data.rating%2Ctitle&at="))
        page = try await ada.get(next)
      }
      #expect(found == ["b", "e", "d", "a"])
      #expect(page.nextLink == nil)
      // Without `at`, a page cannot begin after an element that is no match.
      let gone = try await ada.get("/v1/favorites?where=data.rating:ge:3&after=a&limit=1")
      #expect(gone.problem == ProblemSummary("invalid-parameter"))
      #expect(gone.text.contains("among those that “where” selects") && gone.text.contains("Link"))
    }
  }

  @Test("A past state can be queried, byte for byte as it was")
  func past() async throws {
    try await Self.run { users, ada in
      let query = "where=data.done:eq:true&sort=-id"
      let before = try await ada.get("/v1/favorites?\(query)")
      let cursor = try #require(before.cursor)
      for number in 0..<30 { _ = try await ada.put("/v1/favorites/b", #"{"data":{"done":\#(number % 2 == 0)}}"#) }
      _ = try await ada.delete("/v1/favorites/e")
      #expect(Self.ids(try await ada.get("/v1/favorites?\(query)")) == [])
      let past = try await ada.get("/v1/favorites?\(query)&at=\(cursor)")
      #expect(past.body == before.body && past.tag == before.tag)
      try await users.restart()
      #expect(try await ada.get("/v1/favorites?\(query)&at=\(cursor)").body == before.body)
    }
  }

  @Test("A wait ends only when the result changes, and not at other changes of the list")
  func waiting() async throws {
    try await Self.run { users, ada in
      let path = "/v1/favorites?where=data.done:eq:false&sort=-data.rating&limit=1&wait=30"
      let before = try await ada.get(path)
      #expect(Self.ids(before) == ["d"])
      let fields = ["If-None-Match: \(before.field("ETag") ?? "")"]
      let waiter = try await ada.waiting(path, fields)
      await eventually { users.waiting == 1 }
      // No match, a match on another page that keeps the count, another place in the list, and
      // another collection.
      for (method, target, body) in [
        ("PUT", "/v1/favorites/b", #"{"title":"B","data":{"done":true}}"#),
        ("PUT", "/v1/favorites/a", #"{"data":{"done":false,"rating":2}}"#),
        ("PUT", "/v1/favorites/d/position", #"{"index":0}"#), ("PUT", "/v1/defaults/standard/x", "1"),
      ] {
        #expect(try await ada.ask(method, target, body).status < 300)
        #expect(try await ada.get("/v1/me").status == 200)
        #expect(users.waiting == 1, "\(target)")
      }
      // The page stays the same, but the count changes.
      _ = try await ada.put("/v1/favorites/z", #"{"data":{"done":false,"rating":1}}"#)
      let changed = try await waiter.response()
      #expect(changed.status == 200 && changed.json["count"] == 3 && Self.ids(changed) == ["d"])
      #expect(changed.body == (try await ada.get(path)).body)
    }
  }

  @Test("A wait without a change of the result ends with 304 when its time is over, with the client's ETag")
  func timeOver() async throws {
    try await Self.run { users, ada in
      let path = "/v1/favorites?where=data.done:eq:true"
      let tag = try await ada.get(path).field("ETag") ?? ""
      let waiter = try await ada.waiting("\(path)&wait=20", ["If-None-Match: \(tag)"])
      await eventually { users.waiting == 1 }
      _ = try await ada.put("/v1/favorites/a", #"{"title":"Other"}"#)
      let write = try await ada.put("/v1/defaults/standard/x", "1")
      users.advance(by: 20.2)
      let response = try await waiter.response()
      #expect(response.status == 304 && response.field("ETag") == tag)
      #expect(response.field("Cursor") == write.field("Cursor"))
      #expect(response.field("Preference-Applied") == "wait=20")
      // The tag is still that of the present result.
      #expect(try await ada.get(path, ["If-None-Match: \(tag)"]).status == 304)
    }
  }

  @Test("Administrators and services query a user's list, and links stay below the user")
  func administered() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      try await Self.fill(ada)
      let query = "/favorites?where=data.rating:ge:3&sort=-data.rating&limit=3"
      let (own, other) = (try await ada.get("/v1\(query)"), try await users.admin.get(ada.administered(query)))
      #expect(own.body == other.body && own.tag == other.tag && Self.ids(own) == ["b", "e", "d"])
      let link = try #require(other.nextLink)
      #expect(
        link.hasPrefix(ada.administered("/favorites?limit=3&after=d&where=data.rating%3Age%3A3&sort=-data.rating&at="))
      )
      #expect(Self.ids(try await users.admin.get(link)) == ["a"])
      let malformed = try await users.admin.get(ada.administered("/favorites?where=x"))
      #expect(malformed.problem == ProblemSummary("invalid-parameter"))
    }
  }

  @Test("A declared list is queried like favorites, below the user's own path and below that for administrators")
  func declared() async throws {
    try await ServerFixture.administered { users in
      #expect(try await users.admin.put("/v1/admin/collections/playlist", #"{"kind":"list"}"#).status == 201)
      let ada = try await users.signUp()
      for (id, stars) in [("a", 3), ("b", 5), ("c", 4)] {
        _ = try await ada.put("/v1/playlist/\(id)", #"{"title":"\#(id)","data":{"stars":\#(stars)}}"#)
      }
      let query = "/playlist?where=data.stars:ge:4&sort=data.stars&limit=1"
      let page = try await ada.get("/v1\(query)")
      #expect(page.json["count"] == 2 && Self.ids(page) == ["c"])
      #expect(
        page.nextLink?.hasPrefix("/v1/playlist?limit=1&after=c&where=data.stars%3Age%3A4&sort=data.stars&at=") == true
      )
      #expect(try await users.admin.get(ada.administered(query)).body == page.body)
      #expect(try await ada.get("/v1/playlist?where=stars:eq:1").problem == ProblemSummary("invalid-parameter"))
    }
  }

  @Test("A list of another module has the paths of its own members")
  func ownModule() async throws {
    try await ServerFixture.run(modules: [.notes]) { users in
      let ada = try await users.signUp()
      for (id, text) in [("a", "milk"), ("b", "bread"), ("c", "milk")] {
        _ = try await ada.put("/v1/notes/\(id)", #"{"text":"\#(text)"}"#)
      }
      #expect(Self.ids(try await ada.get("/v1/notes?where=text:eq:milk&sort=-id")) == ["c", "a"])
      let page = try await ada.get("/v1/notes?sort=text&limit=1")
      #expect(Self.ids(page) == ["b"])
      #expect(page.nextLink?.hasPrefix("/v1/notes?limit=1&after=b&sort=text&at=") == true)
      let response = try await ada.get("/v1/notes?where=data.x:eq:1")
      #expect(response.problem == ProblemSummary("invalid-parameter"))
      #expect(response.text.contains("They have id, text, madeAt"))
    }
  }

  @Test("Malformed and hostile queries are refused, and the problem names the parameter")
  func malformed() async throws {
    try await Self.run { _, ada in
      let long = String(repeating: "x", count: ListQuery.longestQuery)
      for query in [
        "where=", "where", "where=title", "where=title:eq", "where=title:is:x", "where=nothing:eq:1",
        "where=data..x:eq:1",
        "where=title:in:x", "where=title:eq:x&where=title", "where=title:eq:\(long)", "where=data:in:%5B1",
        "where=\(String(repeating: "a.", count: 3_000)):eq:1", "sort=", "sort=-", "sort=nothing", "sort=title,",
        "sort=title&sort=id",
        "sort=\(Array(repeating: "title", count: 9).joined(separator: ","))", "sort=%2Btitle", "where=%5B:eq:1",
        Array(repeating: "where=title:eq:x", count: 17).joined(separator: "&"),
      ] {
        let response = try await ada.get("/v1/favorites?\(query)")
        #expect(response.problem == ProblemSummary("invalid-parameter"), "\(query.prefix(80))")
        #expect(response.text.contains(query.hasPrefix("sort") ? "“sort”" : "“where”"), "\(query.prefix(80))")
        #expect(response.body.count < 1_500, "\(query.prefix(80))")
      }
      for query in ["where=%zz", "where=title:eq:%ff", "where=title:eq:%c3", "sort=%", "where=title:eq:%ed%a0%80"] {
        #expect(try await ada.get("/v1/favorites?\(query)").problem == ProblemSummary("invalid-parameter"), "\(query)")
      }
      // Deep and odd values are values like any other.
      for value in [
        String(repeating: "[", count: 2_000), String(repeating: "[", count: 100) + String(repeating: "]", count: 100),
        "1e999999", "-", "\u{0}", "\u{1F}", String(repeating: "9", count: 2_000), "{\"a\":", "NaN", "\"\\ud800\"",
      ] {
        let response = try await ada.get(Self.path("/v1/favorites", ("where", "title:eq:\(value)")))
        #expect(response.status == 200 && response.json["count"] == 0, "\(value.prefix(20))")
      }
      // The routes of elements and maps take no conditions.
      for path in ["/v1/favorites/a?where=id:eq:a", "/v1/defaults/standard?sort=a", "/v1/profile?where=a:eq:1"] {
        #expect(try await ada.get(path).problem == ProblemSummary("invalid-parameter"), "\(path)")
      }
    }
  }

  @Test("The link of the longest query is a request that the server accepts")
  func longestLink() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      let ids = ["a", "b"].map { String(repeating: "é", count: 127) + $0 }
      for id in ids { try #require(try await ada.put("/v1/favorites/\(PercentEncoding.text(id))", "{}").status == 201) }
      let condition = "title:ne:" + String(repeating: "é", count: (ListQuery.longestQuery - 30) / 6)
      let parameters = [("where", condition), ("prefix", String(ids[0].dropLast())), ("limit", "1")]
      let page = try await users.admin.get(
        Self.path(ada.administered("/favorites"), parameters[0], parameters[1], parameters[2])
      )
      #expect(Self.ids(page) == [ids[0]], "\(page.text.prefix(200))")
      let next = try await users.admin.get(try #require(page.nextLink))
      #expect(Self.ids(next) == [ids[1]], "\(next.text.prefix(200))")
    }
  }
}
