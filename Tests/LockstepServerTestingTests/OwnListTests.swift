import Foundation
import LockstepClient
import LockstepCollections
import LockstepServerTesting
import Testing

@testable import NewProject
@testable import ShoppingList

/// The types `NotesElement` and `ShoppingElement` are those that `lockstep swift` prints. The acceptance tests compare
/// them.
@Suite(
  "SyncedList works with a server's own modules and with the types that the command prints",
  .timeLimit(.minutes(10))
)
struct OwnListTests {
  private struct Page<Element: Decodable>: Decodable { let items: [Element] }

  /// Writes offline, checks what the client shows, and checks that the server accepts all of it.
  private static func check<Element>(
    _ module: UserModule,
    of type: Element.Type,
    shows: [String],
    as text: @escaping (Element) -> String,
    write: @escaping @Sendable (SyncedList<Element>) async throws -> Void
  ) throws {
    try ServerInProcess.run(modules: [module]) { server in
      let client = try server.makeClient(for: "ada@example.com", modules: [module])
      let list = client.list(module.name, of: type)
      server.clock.start { await client.run() }
      server.scheduler.scheduleAt(10) { server.goOffline() }
      server.scheduler.scheduleAt(20) {
        do { try await write(list) } catch { Issue.record(error) }
      }
      server.scheduler.advance(to: 30)
      #expect(list.elements.map(text) == shows && client.status.pending > 0)

      server.goOnline()
      server.scheduler.advance(to: 200)
      #expect(list.elements.map(text) == shows && client.status.pending == 0)
      #expect(client.refusedWrites.map { "\($0.failure)" } == [])
      let token = try server.token(of: "ada@example.com")
      let stored = try server.send("GET", "/v1/\(module.name)", token: token)
      #expect(try JSONDecoder().decode(Page<Element>.self, from: Data(stored.body)).items == list.elements)
    }
  }

  @Test("The notes of a new project")
  func notes() throws {
    try Self.check(
      .notes,
      of: NotesElement.self,
      shows: ["b Bread true", "d Dill false", "a Apples true"],
      as: { "\($0.id) \($0.text) \($0.isDone)" },
      write: { notes in
        try await notes.add(NotesElement(id: "a", text: "Milk", isDone: false))
        try await notes.add(NotesElement(id: "b", text: "Bread", isDone: true), at: 0)
        try await notes.add(NotesElement(id: "c", text: "Cocoa", isDone: false))
        try await notes.add(NotesElement(id: "d", text: "Dill", isDone: true), at: 9)
        try await notes.update("a", with: ["isDone": true])
        try await notes.update("a", with: ["text": "Apples"])
        try await notes.replace(NotesElement(id: "d", text: "Dill", isDone: false), ifUnchanged: true)
        try await notes.move("a", to: 3)
        try await notes.remove("c")
      }
    )
  }

  @Test("The shopping list")
  func shopping() throws {
    try Self.check(
      .shopping,
      of: ShoppingElement.self,
      shows: ["b Bread 1 true", "d Dill 3 false", "a Apples 2 true"],
      as: { "\($0.id) \($0.name) \($0.amount) \($0.isBought)" },
      write: { shopping in
        try await shopping.add(ShoppingElement(id: "a", name: "Milk", amount: 2, isBought: false))
        try await shopping.add(ShoppingElement(id: "b", name: "Bread", amount: 1, isBought: true), at: 0)
        try await shopping.add(ShoppingElement(id: "c", name: "Cocoa", amount: 1, isBought: false))
        try await shopping.add(ShoppingElement(id: "d", name: "Dill", amount: 1, isBought: true), at: 9)
        try await shopping.update("a", with: ["isBought": true])
        try await shopping.update("a", with: ["name": "Apples"])
        try await shopping.replace(
          ShoppingElement(id: "d", name: "Dill", amount: 3, isBought: false),
          ifUnchanged: true
        )
        try await shopping.move("a", to: 3)
        try await shopping.remove("c")
      }
    )
  }
}
