import Glibc
import LockstepJSON
import LockstepTestSupport
import Testing

@Suite("The shopping list example is a complete server", .timeLimit(.minutes(10)))
struct ShoppingListTests {
  @Test(
    "It has routes, waiting, changesets, journal, time travel and a catalogue, also after a restart, and erases users",
    arguments: ["ShoppingList", "ShoppingScreens"]
  )
  func everything(binary: String) async throws {
    let folder = try TemporaryDirectory()
    let shop = try await Shop(in: folder, binary: binary)
    #expect(try await shop.ask("PUT", "/v1/shopping/milk", #"{"name":"Milk","amount":2}"#).status == 201)
    let before = try await shop.ask("GET", "/v1/shopping")
    let cursor = try #require(before.field("ETag")).dropFirst().dropLast()

    // A client waits for the list. It gets a response as soon as the list changes.
    let waiter = try RawClient(port: shop.port)
    let condition = ["If-None-Match: \"\(cursor)\"", "Prefer: wait=30", shop.authorization]
    try await waiter.send(Shop.request("GET", "/v1/shopping", nil, condition))
    let actions =
      #"[{"type":"add","payload":{"id":"bread","name":"Bread"}},{"type":"move","payload":{"id":"bread","index":0}}]"#
    #expect(try await shop.ask("POST", "/v1/shopping/actions", actions).status == 200)
    let told = try await waiter.response()
    #expect(told.status == 200)
    let list = try await shop.ask("GET", "/v1/shopping")
    #expect(told.body == list.body)

    let changes = try await shop.json("/v1/changes?since=\(cursor)&collections=shopping")
    let bread = try await shop.json("/v1/shopping").objectValue?["items"]?[0] ?? .null
    #expect(changes["changesets"]?[0]?["insertions"] == [["index": 0, "item": bread]])
    let entries = try await shop.json("/v1/journal")["entries"]?.arrayValue ?? []
    #expect(entries.compactMap { $0["action"]?["type"]?.stringValue } == ["add", "add", "move"])
    #expect(try await shop.ask("GET", "/v1/shopping?at=\(cursor)").body == before.body)
    let catalogue = try await shop.json("/v1/reactors")["items"]?.arrayValue ?? []
    let types = catalogue.first { $0["name"] == "shopping" }?["actions"]?.arrayValue?.compactMap {
      $0["type"]?.stringValue
    }
    #expect(types == ["add", "update", "remove", "move", "toggle", "clear", "clearBought"])
    let priced = #"{"price":"1.50","due":"2026-12-01T11:00:00+01:00"}"#
    let milk = try JSON(parsing: try await shop.ask("PATCH", "/v1/shopping/milk", priced).body)
    #expect(milk["price"] == "1.5" && milk["due"] == "2026-12-01T10:00:00.000Z")
    let twice = try await shop.ask("PUT", "/v1/shopping/loaf", #"{"name":"bread"}"#)
    #expect(twice.status == 409)
    #expect(twice.text.contains("“Bread” is already on the list, with the id “bread”."))
    let last = try await shop.ask("GET", "/v1/shopping")
    await shop.stop()

    let again = try await Shop(in: folder, name: "again", token: shop.token, binary: binary)
    let after = try await again.ask("GET", "/v1/shopping")
    #expect(after.body == last.body)
    #expect(after.field("ETag") == last.field("ETag"))
    #expect(try await again.ask("GET", "/v1/shopping?at=\(cursor)").body == before.body)
    let goodbye = #"{"password":"\#(Shop.password)"}"#
    #expect(try await again.ask("DELETE", "/v1/me", goodbye).status == 204)
    await again.stop()
    let file = String(decoding: try folder.contents(of: "lockstep.db"), as: UTF8.self)
    #expect(!file.contains("Bread"))
  }

  @Test("Its form checks what is typed, saves it for the module, and leads to the form of the item")
  func form() async throws {
    let shop = try await Shop(in: try TemporaryDirectory())
    #expect(try await shop.ask("PUT", "/v1/shopping/milk", #"{"name":"Milk"}"#).status == 201)
    let opened = try JSON(parsing: try await shop.ask("POST", "/v1/reactors/shoppingForm", "").body)
    let href = try #require(opened["href"]?.stringValue)

    /// Waits for a state that fulfils a condition.
    func state(where isExpected: (JSON) -> Bool) async throws -> JSON {
      var response = try await shop.ask("GET", href)
      for _ in 0..<20 where !isExpected(try JSON(parsing: response.body)["state"] ?? .null) {
        let tag = try #require(response.field("ETag"))
        response = try await shop.ask("GET", "\(href)?wait=10", nil, ["If-None-Match: \(tag)"])
        if response.status == 304 { response = try await shop.ask("GET", href) }
      }
      return try JSON(parsing: response.body)["state"] ?? .null
    }
    func act(_ actions: String) async throws -> Int { try await shop.ask("POST", "\(href)/actions", actions).status }

    #expect(try await act(#"{"type":"setName","payload":{"value":" milk "}}"#) == 200)
    let taken = try await state { $0["validatedName"]?["kind"] == "failed" }
    #expect(taken["validatedName"]?["message"] == "This is on the list already.")
    #expect(try await act(#"{"type":"save"}"#) == 409)
    #expect(try await act(#"{"type":"setName","payload":{"value":"Bread"}}"#) == 200)
    _ = try await state { $0["saveEnabled"] == true }
    #expect(try await act(#"[{"type":"setAmount","payload":{"value":"3"}},{"type":"save"}]"#) == 200)
    let route = try await state { $0["route"] != nil }["route"]
    #expect(route?["id"] == 1 && route?["name"] == "shoppingForm")
    let next = try await shop.ask("POST", try #require(route?["href"]?.stringValue), "")
    let shown = try JSON(parsing: next.body)["state"]
    #expect(shown?["name"] == "Bread" && shown?["amount"] == "3")
    let items = try await shop.json("/v1/shopping")["items"]?.arrayValue?.compactMap { $0["name"]?.stringValue }
    #expect(items == ["Milk", "Bread"])
    await shop.stop()
  }

  @Test("A server without the shopping list refuses a store that has one, and the store stays as it was")
  func withoutModule() async throws {
    let folder = try TemporaryDirectory()
    let shop = try await Shop(in: folder)
    #expect(try await shop.ask("PUT", "/v1/shopping/milk", #"{"name":"Milk"}"#).status == 201)
    await shop.stop()
    let other = try LockstepProcess(
      ["serve", "--port", "0", "--data", folder.file("lockstep.db")],
      in: folder,
      name: "other"
    )
    #expect(await other.ended() == .exit(74))
    #expect(other.errors.contains("was served with the module shopping, which this server does not have"))
    let again = try await Shop(in: folder, name: "again", token: shop.token)
    #expect(try await again.json("/v1/shopping")["count"] == 1)
    await again.stop()
  }
}
