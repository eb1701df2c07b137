import Foundation
import LockstepClient
import LockstepCollections
import LockstepServerTesting
import LockstepTime
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
      .list(Notes()),
      of: NotesElement.self,
      shows: ["b Bread true", "d Dill false", "a Apples true"],
      as: { "\($0.id) \($0.text) \($0.isDone ?? false)" },
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
      .list(Shopping()),
      of: ShoppingElement.self,
      shows: ["b Bread 1 true", "d Dill 3 false", "a Apples 2 true"],
      as: { "\($0.id) \($0.name) \($0.amount ?? 1) \($0.isBought ?? false)" },
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

  @Test("The shopping list with the type of the module itself")
  func sharedType() throws {
    let now = Timestamp("2027-01-15T08:00:00Z")
    try Self.check(
      .list(Shopping()),
      of: ShoppingItem.self,
      shows: ["b Bread 1 - -", "a Milk 3 1.5 2027-01-15T08:00:00.000Z"],
      as: { "\($0.id) \($0.name) \($0.amount) \($0.price?.description ?? "-") \($0.due?.description ?? "-")" },
      write: { shopping in
        try await shopping.add(ShoppingItem(id: "a", name: "Milk", amount: 2, price: DecimalNumber("1.50"), due: now))
        try await shopping.add(ShoppingItem(id: "b", name: "Bread", addedAt: now), at: 0)
        try await shopping.add(ShoppingItem(id: "c", name: "Tea"))
        try await shopping.update("a", with: ["amount": 3])
        try await shopping.toggle(ShoppingItem(id: "c", name: "Tea"))
        #expect(shopping.elements.allSatisfy { $0.addedAt != nil && $0.addedAt != now })
        await #expect(throws: ClientFailure.self) { try await shopping.add(ShoppingItem(id: "d", name: "")) }
      }
    )
  }

  /// An element of an earlier version of the module, and of the present one.
  private struct EarlierJob: Codable, Equatable, Identifiable, Sendable {
    let id: String
    var name: String
  }

  private struct Job: Codable, Equatable, Identifiable, Sendable {
    let id: String
    var name: String
    var runs = 0
  }

  private struct EarlierJobs: ListModule {
    typealias Element = EarlierJob
    static let name = "jobs"
  }

  private struct Jobs: ListModule {
    typealias Element = Job
    static let name = "jobs"
    static let rules: [ElementRule] = [.default("runs", 1)]
  }

  @Test("An element that was stored before its type had a member is shown with the default of the member")
  func olderElements() throws {
    try ServerInProcess.run(modules: [.list(EarlierJobs())]) { server in
      let client = try server.makeClient(for: "ada@example.com", modules: [.list(Jobs())])
      let jobs = client.list("jobs", of: Job.self)
      server.clock.start { await client.run() }
      let token = try server.token(of: "ada@example.com")
      #expect(try server.send("PUT", "/v1/jobs/a", ["name": "x"], token: token).status == 201)
      server.scheduler.advance(to: 10)
      #expect(jobs.elements == [Job(id: "a", name: "x", runs: 1)] && jobs.unreadableCount == 0)
    }
  }
}
