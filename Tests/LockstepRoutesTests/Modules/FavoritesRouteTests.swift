import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Favorites over HTTP", .timeLimit(.minutes(10)), .alsoWithDeclaredCollections)
struct FavoritesRouteTests {
  @Test("A new favorite is added at the end, and the response is its item")
  func put() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let response = try await ada.put("/v1/favorites/photo:1", #"{"title":"Aurora","data":{"w":640}}"#)
      #expect(response.status == 201)
      #expect(
        response.text == #"{"id":"photo:1","title":"Aurora","data":{"w":640},"#
          + #""addedAt":"1994-11-06T08:49:37.000Z","updatedAt":"1994-11-06T08:49:37.000Z","index":0}"#
      )
      _ = try await ada.put("/v1/favorites/photo:2", "{}")
      let second = try await ada.get("/v1/favorites/photo:2")
      #expect(second.status == 200)
      #expect(second.json["index"] == 1)
      #expect(second.json.objectValue?.names == ["id", "addedAt", "updatedAt", "index"])
    }
  }

  @Test("A favorite is inserted at an index, at most at the end")
  func putAtIndex() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a", "b")
      #expect(try await ada.put("/v1/favorites/c", #"{"index":0}"#).json["index"] == 0)
      #expect(try await ada.put("/v1/favorites/d", #"{"index":1}"#).json["index"] == 1)
      #expect(try await ada.put("/v1/favorites/e", #"{"index":99}"#).json["index"] == 4)
      #expect(try await ada.favoriteIDs() == ["c", "d", "a", "b", "e"])
    }
  }

  @Test("A replaced favorite keeps its place and the time when it was added")
  func replace() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      _ = try await ada.put("/v1/favorites/a", #"{"title":"old","data":1}"#)
      try await ada.addFavorites("b")
      users.time.advance(by: 60)
      let response = try await ada.put("/v1/favorites/a", #"{"title":"new","index":1}"#)
      #expect(response.status == 200)
      #expect(response.json["title"] == "new")
      #expect(response.json["data"] == nil)
      #expect(response.json["index"] == 0)
      #expect(response.json["addedAt"] == "1994-11-06T08:49:37.000Z")
      #expect(response.json["updatedAt"] == "1994-11-06T08:50:37.000Z")
    }
  }

  @Test("A client may send back an item that it received, and the body is optional")
  func sentBack() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let item = try await ada.put("/v1/favorites/a", #"{"title":"A","data":[1,null]}"#)
      let again = try await ada.put("/v1/favorites/a", item.text)
      #expect(again.status == 200)
      #expect(again.body == item.body)
      #expect(again.tag == item.tag)
      let bare = try await ada.ask("PUT", "/v1/favorites/b")
      #expect(bare.status == 201)
    }
  }

  @Test("The list has its count and its items in order")
  func list() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let empty = try await ada.get("/v1/favorites")
      #expect(empty.status == 200)
      #expect(empty.json["count"] == 0)
      #expect(empty.json["items"] == [])
      #expect(empty.json["cursor"]?.stringValue == empty.tag)
      _ = try await ada.put("/v1/favorites/a", #"{"title":"A"}"#)
      try await ada.addFavorites("b")
      let response = try await ada.get("/v1/favorites")
      #expect(response.json.objectValue?.names == ["cursor", "count", "items"])
      #expect(response.json["count"] == 2)
      #expect(response.json["items"]?[0]?["title"] == "A")
      // The items of a list have no index, because it follows from their order.
      #expect(response.json["items"]?[0]?["index"] == nil)
      #expect(response.json["cursor"]?.stringValue == response.tag)
    }
  }

  @Test("Links lead through all pages, and a prefix filters them")
  func pages() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("p:1", "q:1", "p:2", "p:3", "q:2")
      let first = try await ada.get("/v1/favorites?limit=2&prefix=p:")
      #expect(first.json["count"] == 3)
      #expect(first.json["items"]?.arrayValue?.count == 2)
      let link = try #require(first.nextLink)
      let second = try await ada.get(link)
      #expect(second.json["items"]?.arrayValue?.map { $0["id"] } == ["p:3"])
      #expect(second.field("Link") == nil)
      #expect(try await ada.favoriteIDs("/v1/favorites?after=p:2") == ["p:3", "q:2"])
      #expect(try await ada.favoriteIDs("/v1/favorites?prefix=r") == [])
      #expect(try await ada.get("/v1/favorites?limit=5").field("Link") == nil)
      #expect(try await ada.get("/v1/favorites?limit=4").nextLink != nil)
    }
  }

  @Test("Invalid parameters are refused by name")
  func badParameters() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for (query, name) in [
        ("limit=0", "limit"), ("limit=-1", "limit"), ("limit=ten", "limit"), ("limit=", "limit"),
        ("limit=99999999999999999999", "limit"), ("limit=1&limit=2", "limit"), ("after=absent", "absent"),
        ("at=nonsense", "at"), ("at=", "at"), ("prefix=%ff", "UTF-8"), ("prefix=%2", "%"),
      ] {
        let response = try await ada.get("/v1/favorites?\(query)")
        #expect(response.status == 400, "\(query)")
        #expect(response.problem == ProblemSummary("invalid-parameter"), "\(query)")
        #expect(response.json["detail"]?.stringValue?.contains(name) == true, "\(query)")
      }
    }
  }

  @Test("A merge patch changes only the title and the data, with any JSON content type")
  func mergePatch() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      _ = try await ada.put("/v1/favorites/a", #"{"title":"A","data":{"x":1,"y":{"z":2}}}"#)
      users.time.advance(by: 1)
      let cases: [(type: String?, patch: String, title: JSON?, data: JSON?)] = [
        (nil, #"{"data":{"y":{"z":null,"w":3}}}"#, "A", ["x": 1, "y": ["w": 3]]),
        ("application/json", #"{"title":"B"}"#, "B", ["x": 1, "y": ["w": 3]]),
        ("application/merge-patch+json", #"{"data":7}"#, "B", 7),
        ("application/x-www-form-urlencoded", #"{"data":null}"#, "B", nil),
        ("application/merge-patch+json; charset=utf-8", #"{"title":null}"#, nil, nil),
      ]
      for (type, patch, title, data) in cases {
        let response = try await ada.patch("/v1/favorites/a", patch, type.map { ["Content-Type: \($0)"] } ?? [])
        #expect(response.status == 200, "\(patch)")
        #expect(response.json["title"] == title, "\(patch)")
        #expect(response.json["data"] == data, "\(patch)")
        #expect(response.json["addedAt"] == "1994-11-06T08:49:37.000Z")
        #expect(response.json["updatedAt"] == "1994-11-06T08:49:38.000Z")
      }
    }
  }

  @Test(
    "A JSON patch is applied as a whole; a failed test is a conflict, and an invalid operation is named by its place"
  )
  func jsonPatch() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      _ = try await ada.put("/v1/favorites/a", #"{"title":"A","data":[1,2]}"#)
      let type = ["Content-Type: application/json-patch+json"]
      let patch = #"[{"op":"test","path":"/title","value":"A"},{"op":"add","path":"/data/-","value":3}]"#
      let response = try await ada.patch("/v1/favorites/a", patch, type)
      #expect(response.status == 200)
      #expect(response.json["data"] == [1, 2, 3])
      for (patch, expected) in [
        (
          #"[{"op":"add","path":"/data/-","value":4},{"op":"test","path":"/title","value":"B"}]"#,
          ProblemSummary("conflict")
        ),
        (#"[{"op":"remove","path":"/data/9"}]"#, ProblemSummary("validation-failed", "/0")),
        (#"[{"op":"add","path":"/id","value":"b"}]"#, ProblemSummary("validation-failed", "/id")),
        (#"[{"op":"replace","path":"","value":7}]"#, ProblemSummary("validation-failed", "")),
        (
          #"[{"op":"dance","path":"/a"},{"op":"add"}]"#,
          ProblemSummary("validation-failed", "/0/op", "/1/path", "/1/value")
        ),
        (#"{"title":"B"}"#, ProblemSummary("validation-failed", "")),
      ] {
        #expect(try await ada.patch("/v1/favorites/a", patch, type).problem == expected, "\(patch)")
      }
      #expect(try await ada.get("/v1/favorites/a").json["data"] == [1, 2, 3])
    }
  }

  @Test("A moved favorite gets its new place, and a place past the end is the last one")
  func move() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a", "b", "c")
      for (id, index, place, order) in [
        ("c", "0", 0, ["c", "a", "b"]), ("c", "1", 1, ["a", "c", "b"]), ("a", "7", 2, ["c", "b", "a"]),
        ("a", "2", 2, ["c", "b", "a"]), ("c", "18446744073709551615", 2, ["b", "a", "c"]),
        ("a", "0.0", 0, ["a", "b", "c"]),
      ] {
        let response = try await ada.put("/v1/favorites/\(id)/position", #"{"index":\#(index)}"#)
        #expect(response.status == 200, "\(response.text)")
        #expect(response.json["id"]?.stringValue == id)
        #expect(response.json["index"]?.intValue == place)
        #expect(try await ada.favoriteIDs() == order)
      }
    }
  }

  @Test("A missing favorite cannot be read, patched, moved or removed")
  func missing() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for (method, path, body) in [
        ("GET", "/v1/favorites/a", nil), ("PATCH", "/v1/favorites/a", "{}"), ("DELETE", "/v1/favorites/a", nil),
        ("PUT", "/v1/favorites/a/position", #"{"index":0}"#),
      ] as [(String, String, String?)] {
        let response = try await ada.ask(method, path, body)
        #expect(response.status == 404, "\(method) \(path)")
        #expect(response.problem == ProblemSummary("not-found"))
        #expect(response.cursor != nil)
      }
    }
  }

  @Test("The second removal of a favorite gets 404")
  func delete() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a", "b")
      let response = try await ada.delete("/v1/favorites/a")
      #expect(response.status == 204)
      #expect(response.body.isEmpty)
      #expect(response.cursor != nil)
      #expect(try await ada.delete("/v1/favorites/a").status == 404)
      #expect(try await ada.favoriteIDs() == ["b"])
    }
  }

  @Test("Every invalid field of a favorite's body is named")
  func faults() async throws {
    // The data of a declared list may be longer.
    if SwappedWords.current != nil { return }
    let longTitle = String(repeating: "é", count: 257)
    let bigData = String(repeating: "x", count: 16 * 1024 - 1)
    let cases: [(method: String, path: String, body: String, pointers: [String])] = [
      ("PUT", "a", #"{"title":7,"data":"\#(bigData)","index":-1}"#, ["/title", "/data", "/index"]),
      ("PUT", "a", #"{"title":"\#(longTitle)","index":1.5}"#, ["/title", "/index"]),
      ("PUT", "a", #"{"index":"0"}"#, ["/index"]),
      ("PUT", "a", "[]", [""]),
      ("PUT", "a", "null", [""]),
      ("PATCH", "b", #"{"title":[],"data":"\#(bigData)","id":"c"}"#, ["/title", "/data", "/id"]),
      ("PATCH", "b", "7", [""]),
      ("PUT", "b/position", "{}", ["/index"]),
      ("PUT", "b/position", #"{"index":null}"#, ["/index"]),
      ("PUT", "b/position", #"{"index":-1}"#, ["/index"]),
      ("PUT", "b/position", "[1]", [""]),
    ]
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("b")
      let before = try await ada.get("/v1/favorites")
      for (method, path, body, pointers) in cases {
        let response = try await ada.ask(method, "/v1/favorites/\(path)", body)
        #expect(response.status == 422)
        #expect(
          response.problem == ProblemSummary(slug: "validation-failed", pointers: pointers),
          "\(method) \(body.prefix(40))"
        )
      }
      #expect(try await ada.get("/v1/favorites").body == before.body)
    }
  }

  @Test("A title may have 512 bytes and data 16 KiB")
  func largest() async throws {
    let title = String(repeating: "é", count: 256)
    let data = String(repeating: "x", count: 16 * 1024 - 2)
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let response = try await ada.put("/v1/favorites/a", #"{"title":"\#(title)","data":"\#(data)"}"#)
      #expect(response.status == 201)
      #expect(response.json["title"]?.stringValue == title)
      #expect(response.json["data"]?.stringValue == data)
    }
  }
}

extension RawResponse {
  /// The target of the link to the next page.
  var nextLink: String? {
    field("Link")?.wholeMatch(of: /<(.+)>; rel="next"/).map { String($0.1) }
  }
}
