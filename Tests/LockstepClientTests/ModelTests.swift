import Foundation
import LockstepClientTesting
import LockstepClientUI
import LockstepJSON
import LockstepReactorTesting
import LockstepSQLite
import LockstepTestSupport
import Observation
import Testing

@testable import LockstepClient

/// The models run on the main actor, in real time.
@Suite("Models of views", .timeLimit(.minutes(10)))
@MainActor
struct ModelTests {
  private let server = FakeServer()
  private let client: LockstepClient

  init() throws {
    client = try LockstepClient(store: .memory, transport: server, credentials: MemoryCredentials("token"))
  }

  /// Waits until a value that a view observes has changed to the expected one.
  private func expectSoon<Value: Equatable>(_ expected: Value, _ value: @escaping () -> Value) async {
    while value() != expected, !Task.isCancelled {
      let (changes, continuation) = AsyncStream<Void>.makeStream()
      withObservationTracking {
        _ = value()
      } onChange: {
        continuation.yield()
      }
      // Ends at the test's time limit too.
      for await _ in changes { break }
      await Task.yield()
    }
    #expect(value() == expected)
  }

  @Test("A list model shows and changes a list")
  func list() async {
    let model = ListModel(client.list(of: Photo.self))
    for id in ["a", "b", "c"] { model.add(Photo(id: id)) }
    await expectSoon(3) { model.items.count }
    model.move(fromOffsets: [0], toOffset: 3)
    await expectSoon(["b", "c", "a"]) { model.items.map(\.id) }
    model.remove(atOffsets: [1])
    await expectSoon(["b", "a"]) { model.items.map(\.id) }
    model.remove("b")
    await expectSoon(["a"]) { model.items.map(\.id) }
    #expect(model.failure == nil)
  }

  @Test("A list model shows its changes when the calls return, and goes back if a change cannot be stored")
  func listAtOnce() async throws {
    let (clock, folder) = (VirtualClock(), try TemporaryDirectory())
    let client = try LockstepClient(store: .file(folder.file("client.db")), transport: server, clock: clock)
    let list = client.list(of: Photo.self)
    let model = ListModel(list)
    for id in ["a", "b", "c"] { model.add(Photo(id: id)) }
    #expect(model.items.map(\.id) == ["a", "b", "c"])
    model.move(fromOffsets: [0, 1], toOffset: 3)
    #expect(model.items.map(\.id) == ["c", "a", "b"])
    model.remove(atOffsets: [1])
    model.add(Photo(id: "d"), at: 0)
    model.remove("b")
    #expect(model.items.map(\.id) == ["d", "c"])
    for await update in list.updates where update.new.map(\.id) == ["d", "c"] { break }
    let other = try SQLiteConnection(path: folder.file("client.db"))
    try other.execute("CREATE TRIGGER full BEFORE INSERT ON outbox BEGIN SELECT RAISE(ABORT, 'full'); END")
    model.remove(atOffsets: [0])
    #expect(model.items.map(\.id) == ["c"])
    await expectSoon(["d", "c"]) { model.items.map(\.id) }
    #expect(model.failure != nil)
  }

  @Test("A list model shows a text in another encoding, also one of another device")
  func encodings() async {
    let running = Task { [client] in await client.run() }
    let model = ListModel(client.list(of: Photo.self))
    let (first, other) = ("jos\u{E9}", "jose\u{301}")
    func shown() -> [UInt8]? { model.items.first?.title.map { Array($0.utf8) } }
    for title in [first, other] {
      model.add(Photo(id: "a", title: title))
      #expect(shown() == Array(title.utf8))
    }
    func stored() -> JSON? { server.json(of: "favorites").arrayValue?.first?["title"] }
    while stored() != JSON.string(other), !Task.isCancelled { await Task.yield() }
    server.perform(["module": "favorites", "type": "update", "payload": ["id": "a", "title": .string(first)]])
    // Nothing notifies a view of this, because the text looks the same.
    while shown() != Array(first.utf8), !Task.isCancelled { await Task.yield() }
    #expect(shown() == Array(first.utf8))
    running.cancel()
  }

  @Test("A value model shows its value at once, and writes the last of several")
  func value() async {
    let map = client.defaults()
    let (model, other) = (ValueModel("volume", in: map, default: 5), ValueModel("volume", in: map, default: 5))
    for value in 0...100 { model.value = value }
    #expect(model.value == 100)
    await expectSoon(100) { other.value }
    #expect(client.status.pending <= 3)
  }

  @Test("A value model that begins without a client keeps a value, and follows a client that comes later")
  func followingLater() async throws {
    try await client.defaults().set("volume", 7)
    let (model, other) = (ValueModel(5), ValueModel(5))
    model.value = 6
    #expect(model.value == 6)
    for _ in 0..<3 { for each in [model, other] { each.follow("volume", suite: "standard", of: client) } }
    #expect(model.value == 7)
    model.value = 8
    await expectSoon(8) { other.value }
    #expect(client.status.pending == 2)
  }

  @Test("A value model never goes back to a value that the view has replaced")
  func flicker() async throws {
    let running = Task { [client] in await client.run() }
    let map = client.defaults()
    let (model, other) = (ValueModel("volume", in: map, default: -1), ValueModel("volume", in: map, default: -1))
    for value in 0...500 {
      model.value = value
      for _ in 0..<value % 7 { await Task.yield() }
      #expect(model.value == value)
    }
    // Another device's value is the last one only if it comes after all values of this device.
    await expectSoon(500) { other.value }
    _ = try await client.defaults().set("isSent", true).confirmed
    server.perform(["module": "defaults", "type": "set", "payload": ["key": "volume", "value": 1_000]])
    await expectSoon(1_000) { model.value }
    running.cancel()
  }

  @Test("An object model and a status model follow the client")
  func objectAndStatus() async {
    let (model, status) = (ObjectModel(client.profile), StatusModel(client))
    model.save(Profile(companyName: "Aurora"))
    await expectSoon("Aurora") { model.value?.companyName }
    await expectSoon(1) { status.status.pending }
    let running = Task { [client] in await client.run() }
    await expectSoon(.live) { status.status.connection }
    await expectSoon(0) { status.status.pending }
    running.cancel()
  }

  @Test("A model shows the refused writes, and retries and dismisses them")
  func refusedWrites() async throws {
    let running = Task { [client] in await client.run() }
    let model = RefusedWritesModel(client)
    #expect(model.writes.isEmpty)
    let photos = client.list(of: Photo.self)
    for id in ["a", "b"] { try await photos.move(id, to: 0) }
    await expectSoon(2) { model.writes.count }
    #expect(model.writes.first?.failure.title == "This could not be found")
    #expect(model.writes.first?.failure.type == "not-found")
    server.perform(["module": "favorites", "type": "add", "payload": ["id": "a"]])
    model.retry(model.writes[0])
    await expectSoon(1) { model.writes.count }
    model.dismiss(model.writes[0])
    await expectSoon(0) { model.writes.count }
    await expectSoon(nil) { model.failure.map { "\($0)" } }
    running.cancel()
  }

  @Test("A model that is released follows nothing")
  func releasing() async {
    weak var released: ListModel<Photo>?
    do {
      let model = ListModel(client.list(of: Photo.self))
      released = model
      await Task.yield()
    }
    while released != nil, !Task.isCancelled { await Task.yield() }
    #expect(released == nil)
  }
}
