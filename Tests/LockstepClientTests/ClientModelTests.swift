import LockstepClientTesting
import LockstepJSON
import LockstepReactor
import LockstepReactorTesting
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepClient

/// A view that applies each update, as an app does.
private final class View: Sendable {
  private let contents = Mutex((table: StrictTableView<Photo>(), trap: String?.none, updates: 0))

  func follow(_ list: SyncedList<Photo>) async {
    for await update in list.updates {
      contents.withLock { contents in
        contents.updates += 1
        if contents.table.rows != update.old { contents.trap = "the update does not begin with what the view shows" }
        do throws(StrictTableView<Photo>.Trap) {
          try contents.table.apply(update.changeset, leadingTo: update.new)
        } catch {
          contents.trap = error.description
        }
      }
    }
  }

  var rows: [Photo] { contents.withLock { $0.table.rows } }
  var trap: String? { contents.withLock { $0.trap } }
  var updates: Int { contents.withLock { $0.updates } }
}

@Suite("Random edits of two devices", .timeLimit(.minutes(5)))
struct ClientModelTests {
  @Test(
    "Views never trap, and all processes and the server end with the same list",
    arguments: [1, 2, 3, 4, 5, 6] as [UInt64]
  )
  func twoDevices(seed: UInt64) throws {
    var numbers = SeededNumbers(seed: seed)
    let clock = VirtualClock()
    let server = FakeServer(clock: clock)
    var devices: [(client: LockstepClient, photos: SyncedList<Photo>, view: View)] = []
    // The first device has two processes on one file.
    let (folder, neighbors) = (try TemporaryDirectory(), TestNeighbors())
    for (number, file) in ["device 1", "device 1", "device 2"].enumerated() {
      let client = try LockstepClient(
        sharing: folder.file(file),
        with: number < 2 ? neighbors : TestNeighbors(),
        seed: seed &* 100 &+ UInt64(number),
        server,
        MemoryCredentials("token"),
        clock,
        following: number < 2 ? .polls : .events
      )
      let (photos, view) = (client.list(of: Photo.self), View())
      clock.start { await client.run() }
      clock.start { await view.follow(photos) }
      devices.append((client, photos, view))
    }
    clock.advance(by: .milliseconds(20))
    for _ in 0..<200 {
      let photos = devices[Int.random(in: 0..<devices.count, using: &numbers)].photos
      let id = "p\(Int.random(in: 0..<12, using: &numbers))"
      let (index, action) = (Int.random(in: 0..<12, using: &numbers), Int.random(in: 0..<10, using: &numbers))
      let photo = Photo(id: id, title: "\(Int.random(in: 0..<3, using: &numbers))")
      clock.start {
        switch action {
        case 0...3: _ = try? await photos.add(photo, at: index)
        case 4: _ = try? await photos.remove(id)
        case 5, 6: _ = try? await photos.move(id, to: index)
        case 7: _ = try? await photos.toggle(photo)
        case 8: _ = try? await photos.replace(photo)
        default: if index == 0 { _ = try? await photos.clear() }
        }
      }
      switch Int.random(in: 0..<20, using: &numbers) {
      case 0: server.goOffline()
      case 1, 2: server.goOnline()
      case 3: server.loseNextResponse()
      case 4...9: clock.advance(by: .milliseconds(20))
      case 10: clock.advance(by: .seconds(Int.random(in: 1...90, using: &numbers)))
      default: break
      }
    }
    server.goOnline()
    clock.advance(by: .seconds(300))
    let expected = (server.json(of: "favorites").arrayValue ?? []).map { $0["id"]?.stringValue ?? "" }
    for (client, photos, view) in devices {
      #expect(client.status.connection == .live && client.status.pending == 0, "seed \(seed): \(client.status)")
      #expect(photos.elements.map(\.id) == expected, "seed \(seed)")
      #expect(view.trap == nil && view.rows == photos.elements && view.updates > 20, "seed \(seed)")
    }
  }
}
