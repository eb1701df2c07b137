import Foundation
import LockstepClientTesting
import LockstepJSON
import LockstepReactorTesting
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepClient
@testable import LockstepClientUI

/// A table view that a driver feeds.
private final class DrivenTable: Sendable {
  private let contents = Mutex((table: StrictTableView<Photo>(), trap: String?.none, updates: 0))

  func follow(_ driver: ListDriver<Photo>) async {
    await driver.run { update, commit in
      contents.withLock { contents in
        contents.updates += 1
        if contents.table.rows != update.old { contents.trap = "the view does not show `old`" }
        do throws(StrictTableView<Photo>.Trap) {
          try contents.table.performBatchUpdates(update.changeset, dataSource: { driver.items }, updates: commit)
        } catch { contents.trap = error.description }
        if driver.items != update.new { contents.trap = "the data source does not have `new`" }
      }
    }
  }

  /// The user has dropped a row: the view shows it at its new place.
  func drop(_ row: Int, at index: Int) { contents.withLock { $0.table.moveRow(from: row, to: index) } }

  var rows: [Photo] { contents.withLock { $0.table.rows } }
  var trap: String? { contents.withLock { $0.trap } }
  var updates: Int { contents.withLock { $0.updates } }
}

@Suite("Driving a table view", .timeLimit(.minutes(10)))
struct ListDriverTests {
  private func fixture(_ ids: String...) throws -> (ClientFixture, ListDriver<Photo>, DrivenTable) {
    let (fixture, table) = (try ClientFixture(), DrivenTable())
    let driver = ListDriver(fixture.photos)
    for id in ids { fixture.add(id) }
    fixture.clock.start { await table.follow(driver) }
    fixture.clock.advance(by: .milliseconds(20))
    return (fixture, driver, table)
  }

  private func perform(_ fixture: ClientFixture, _ type: String, _ payload: JSON) {
    fixture.server.perform(["module": "favorites", "type": .string(type), "payload": payload])
    fixture.clock.advance(by: .milliseconds(20))
  }

  @Test("While the user drags a row, the view gets no update, and then one update with all changes")
  func dragging() throws {
    let (fixture, driver, table) = try fixture("a", "b", "c")
    driver.pause()
    perform(fixture, "remove", ["id": "a"])
    perform(fixture, "add", ["id": "d"])
    #expect(table.rows.map(\.id) == ["a", "b", "c"] && table.updates == 1)
    driver.resume()
    fixture.clock.advance(by: .milliseconds(20))
    #expect(table.rows.map(\.id) == ["b", "c", "d"] && table.trap == nil)
  }

  @Test("A row that the view has moved by itself is not moved again")
  func dropping() throws {
    let (fixture, driver, table) = try fixture("a", "b", "c", "d")
    driver.pause()
    perform(fixture, "remove", ["id": "b"])
    table.drop(0, at: 3)
    fixture.clock.start { _ = try? await driver.noteMove(from: 0, to: 3) }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(table.rows.map(\.id) == ["b", "c", "d", "a"] && driver.items == table.rows)
    driver.resume()
    fixture.clock.advance(by: .milliseconds(20))
    #expect(table.rows.map(\.id) == ["c", "d", "a"] && table.trap == nil)
    #expect(fixture.server.json(of: "favorites").arrayValue?.compactMap { $0["id"]?.stringValue } == ["c", "d", "a"])
  }

  @Test("The data source has the old list until the block of the updates, and the new one from then on")
  func layoutBeforeTheUpdates() throws {
    let (fixture, _, table) = try fixture("a", "b", "c")
    perform(fixture, "remove", ["id": "a"])
    perform(fixture, "add", ["id": "d", "index": 0])
    #expect(table.rows.map(\.id) == ["d", "b", "c"] && table.trap == nil)
  }

  @Test("A view without batch updates needs no commit, and a late commit changes nothing")
  func withoutCommit() throws {
    let fixture = try ClientFixture()
    let driver = ListDriver(fixture.photos)
    let commits = Mutex<[@Sendable () -> Void]>([])
    fixture.clock.start { await driver.run { _, commit in commits.withLock { $0.append(commit) } } }
    for id in ["a", "b"] { fixture.add(id) }
    #expect(driver.items.map(\.id) == ["a", "b"])
    for commit in commits.withLock({ $0 }) { commit() }
    #expect(driver.items.map(\.id) == ["a", "b"])
    fixture.add("c")
    #expect(driver.items.map(\.id) == ["a", "b", "c"])
  }

  @Test("While a diffable data source applies an update, it finds old and new elements")
  func diffableElements() throws {
    let fixture = try ClientFixture()
    let (driver, found) = (ListDriver(fixture.photos), Recorded<[String?]>())
    fixture.add("a")
    fixture.clock.start {
      await driver.run { update, commit in
        commit()
        found.set(["a", "b"].map { driver.element($0)?.id })
      }
    }
    fixture.clock.advance(by: .milliseconds(20))
    fixture.clock.start { [client = fixture.client, photos = fixture.photos] in
      _ = try? await client.perform { transaction in
        transaction.remove("a", in: photos)
        try transaction.add(Photo(id: "b"), in: photos)
      }
    }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(found.value == ["a", "b"])
    #expect(driver.element("a") == nil && driver.element("b")?.id == "b")
  }

  @Test("A driver that runs again begins with the list that the view shows")
  func runningAgain() throws {
    let (fixture, table) = (try ClientFixture(), DrivenTable())
    let driver = ListDriver(fixture.photos)
    for id in ["a", "b"] { fixture.add(id) }
    let first = fixture.clock.start { await table.follow(driver) }
    fixture.clock.advance(by: .milliseconds(20))
    first.cancel()
    perform(fixture, "remove", ["id": "a"])
    #expect(table.rows.map(\.id) == ["a", "b"])
    fixture.clock.start { await table.follow(driver) }
    perform(fixture, "add", ["id": "c"])
    #expect(table.rows.map(\.id) == ["b", "c"] && table.trap == nil)
  }

  @Test("The index paths of an update are those of its section")
  func indexPaths() throws {
    let fixture = try ClientFixture()
    let recorded = Mutex<[UpdatePaths]>([])
    for id in ["a", "b", "c"] { fixture.add(id) }
    fixture.clock.start { [photos = fixture.photos] in
      for await update in photos.updates { recorded.withLock { $0.append(UpdatePaths(update, section: 4)) } }
    }
    fixture.clock.advance(by: .milliseconds(20))
    perform(fixture, "move", ["id": "c", "index": 0])
    perform(fixture, "remove", ["id": "b"])
    perform(fixture, "update", ["id": "a", "title": "Aurora"])
    let paths = recorded.withLock { $0 }
    try #require(paths.count == 4)
    #expect(paths[0].insertions == [[4, 0], [4, 1], [4, 2]])
    #expect(paths[1].moves.map { [$0.from, $0.to] } == [[[4, 2], [4, 0]]])
    #expect(paths[2].deletions == [[4, 2]] && paths[3].modifications == [[4, 1]])
  }

  @Test("Moves of SwiftUI are moves of single elements", arguments: [1, 2, 3] as [UInt64])
  func swiftUIMoves(seed: UInt64) {
    var numbers = SeededNumbers(seed: seed)
    for _ in 0..<2_000 {
      let count = Int.random(in: 0...8, using: &numbers)
      let list = Array(0..<count)
      let offsets = IndexSet(list.filter { _ in Bool.random(using: &numbers) })
      let target = Int.random(in: 0...count, using: &numbers)
      // As `move(fromOffsets:toOffset:)` of SwiftUI does.
      let expected =
        list[..<target].filter { !offsets.contains($0) } + offsets.map { list[$0] }
        + list[target...].filter { !offsets.contains($0) }
      let photos = list.map { Photo(id: "\($0)") }
      let shown = SyncedList.elements(photos, movedFrom: offsets, toOffset: target)
      #expect(shown.map(\.id) == expected.map { "\($0)" })
      var moved = list
      for move in SyncedList<Photo>.moves(fromOffsets: offsets, toOffset: target, count: count) {
        moved.remove(at: moved.firstIndex(of: list[move.row]) ?? 0)
        moved.insert(list[move.row], at: move.index)
      }
      #expect(moved == expected, "seed \(seed): \(Array(offsets)) to \(target) of \(count)")
    }
  }

  @Test("Elements at offsets are removed together")
  func removing() throws {
    let (fixture, _, table) = try fixture("a", "b", "c", "d")
    let before = fixture.server.requests.count { $0.method == "POST" }
    fixture.clock.start { [photos = fixture.photos] in
      _ = try? await photos.remove(atOffsets: IndexSet([0, 2, 9]), of: photos.elements)
    }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(table.rows.map(\.id) == ["b", "d"])
    #expect(fixture.server.requests.count { $0.method == "POST" } == before + 1)
  }
}
