import Foundation
import LockstepClientTesting
import LockstepClientUI
import LockstepJSON
import LockstepReactor
import LockstepReactorTesting
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepClient

/// A table view of an app, fed by a driver, with a user who drags rows.
private final class View: Sendable {
  private let contents = Mutex((table: StrictTableView<Photo>(), trap: String?.none, updates: 0))
  let driver: ListDriver<Photo>

  init(_ list: SyncedList<Photo>) { driver = ListDriver(list) }

  func follow() async {
    await driver.run { update, commit in
      contents.withLock { contents in
        contents.updates += 1
        if contents.table.rows != update.old { contents.trap = "the update does not begin with what the view shows" }
        do throws(StrictTableView<Photo>.Trap) {
          try contents.table.performBatchUpdates(update.changeset, dataSource: { driver.items }, updates: commit)
        } catch {
          contents.trap = error.description
        }
        if driver.items != update.new { contents.trap = "the data source does not have the new list" }
      }
    }
  }

  /// The user drops a row. The view shows it at its new place before the list is changed.
  func drop(_ row: Int, at index: Int) async {
    let isMoved = contents.withLock { contents in
      guard contents.table.rows.indices.contains(row), contents.table.rows.indices.contains(index) else { return false }
      contents.table.moveRow(from: row, to: index)
      return true
    }
    if isMoved { _ = try? await driver.noteMove(from: row, to: index) }
  }

  var rows: [Photo] { contents.withLock { $0.table.rows } }
  var trap: String? { contents.withLock { $0.trap } }
  var updates: Int { contents.withLock { $0.updates } }
}

/// Two devices with optimistic writes, the first one with two processes on one file, and a network that fails.
private struct TwoDevices {
  let seed: UInt64
  private let clock = VirtualClock()
  private let server: FakeServer
  private let devices: [(client: LockstepClient, photos: SyncedList<Photo>, view: View)]
  private let folder: TemporaryDirectory
  private let tasks: [Task<Void, Never>]
  private var numbers: SeededNumbers

  init(seed: UInt64) throws {
    self.seed = seed
    numbers = SeededNumbers(seed: seed)
    let (clock, server, folder, neighbors) = (
      clock, FakeServer(clock: clock), try TemporaryDirectory(), TestNeighbors()
    )
    (self.server, self.folder) = (server, folder)
    var tasks: [Task<Void, Never>] = []
    devices = try ["device 1", "device 1", "device 2"].enumerated().map { number, file in
      let client = try LockstepClient(
        sharing: folder.file(file),
        with: number < 2 ? neighbors : TestNeighbors(),
        seed: seed &* 100 &+ UInt64(number),
        server,
        MemoryCredentials("token"),
        clock,
        following: number < 2 ? .polls : .events
      )
      let photos = client.list(of: Photo.self)
      let view = View(photos)
      tasks.append(clock.start { await client.run() })
      tasks.append(clock.start { await view.follow() })
      return (client, photos, view)
    }
    self.tasks = tasks
    clock.advance(by: .milliseconds(20))
  }

  /// How many updates the views have got.
  var updates: Int { devices.reduce(0) { $0 + $1.view.updates } }

  mutating func step() {
    edit()
    let view = devices[numbers.below(devices.count)].view
    switch numbers.below(30) {
    case 0: server.goOffline()
    case 1, 2: server.goOnline()
    case 3: server.loseNextResponse()
    case 4...12: clock.advance(by: .milliseconds(20))
    case 13: clock.advance(by: .seconds(1 + numbers.below(90)))
    case 14, 15: view.driver.pause()
    case 16...19: view.driver.resume()
    default: break
    }
  }

  private mutating func edit() {
    let (_, photos, view) = devices[numbers.below(devices.count)]
    let photo = Photo(id: "p\(numbers.below(12))", title: "\(numbers.below(3))")
    let (row, index, action) = (numbers.below(12), numbers.below(12), numbers.below(12))
    clock.start {
      switch action {
      case 0...3: _ = try? await photos.add(photo, at: index)
      case 4: _ = try? await photos.remove(photo.id)
      case 5, 6: _ = try? await photos.move(photo.id, to: index)
      case 7: _ = try? await photos.toggle(photo)
      case 8: _ = try? await photos.replace(photo)
      case 9: if index == 0 { _ = try? await photos.clear() }
      case 10: _ = try? await photos.move(fromOffsets: [row, index], toOffset: action, of: photos.elements)
      default: await view.drop(row, at: index)
      }
    }
  }

  /// Waits until all is sent, and compares all with the server.
  func end() {
    server.goOnline()
    for device in devices { device.view.driver.resume() }
    clock.advance(by: .seconds(300))
    let expected = (server.json(of: "favorites").arrayValue ?? []).map { $0["id"]?.stringValue ?? "" }
    for (client, photos, view) in devices {
      #expect(client.status.connection == .live && client.status.pending == 0, "seed \(seed): \(client.status)")
      #expect(photos.elements.map(\.id) == expected, "seed \(seed)")
      #expect(view.trap == nil, "seed \(seed)")
      #expect(view.rows == photos.elements && view.updates > 0, "seed \(seed)")
    }
    for task in tasks { task.cancel() }
    clock.advance(by: .milliseconds(20))
  }
}

/// How many updates the views get at least. `LOCKSTEP_TABLE_UPDATES` sets it, and `LOCKSTEP_TEST_SEED` determines the
/// edits.
private let wantedUpdates =
  ProcessInfo.processInfo.environment["LOCKSTEP_TABLE_UPDATES"].flatMap { Int($0) } ?? 1_000

@Suite("Random edits of two devices", .timeLimit(.minutes(10 + wantedUpdates / 10_000)))
struct ClientModelTests {
  @Test("Views never trap, and all processes and the server end with the same list")
  func twoDevices() throws {
    let first = TestSeed.make(for: "Random edits")
    var (updates, runs) = (0, 0)
    while updates < wantedUpdates {
      var run = try TwoDevices(seed: first &+ UInt64(runs))
      for _ in 0..<200 { run.step() }
      run.end()
      updates += run.updates
      runs += 1
      if runs.isMultiple(of: 100) { print("Random edits: \(updates) updates in \(runs) runs") }
    }
    print("Random edits: \(updates) updates in \(runs) runs, none trapped")
  }
}
