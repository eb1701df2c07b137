import LockstepCollections
import LockstepJSON
import LockstepTime
import Testing
import WatchingModule

@Suite("The positions of videos", .timeLimit(.minutes(10)))
struct WatchingReactorTests {
  private static func time(_ seconds: Int) -> Timestamp { Timestamp(millisecondsSince1970: Int64(seconds) * 1_000) }

  /// A list after reports of devices. Each report is a video, the position, and the time of watching in seconds. The
  /// server gets them in order, from 1,000 seconds on.
  private func list(_ reports: [(id: String, position: Int, at: Int?)]) throws -> [WatchedVideo] {
    var list = ListState()
    for (number, report) in reports.enumerated() {
      let action = WatchingAction.watch(
        id: report.id,
        position: report.position,
        isFinished: false,
        watchedAt: report.at.map(Self.time)
      )
      _ = try WatchingReactor(now: Self.time(1_000 + number)).perform(action, on: &list)
    }
    return list.elements()
  }

  private func video(_ id: String, _ position: Int, _ seconds: Int) -> WatchedVideo {
    WatchedVideo(id: id, position: position, watchedAt: Self.time(seconds))
  }

  @Test("The list is in the order of watching, newest first")
  func recency() throws {
    let videos = try list([("a", 10, 100), ("b", 20, 200), ("c", 30, 150), ("a", 40, 300)])
    #expect(videos == [video("a", 40, 300), video("b", 20, 200), video("c", 30, 150)])
  }

  @Test("The last device wins, also with a smaller position")
  func lastDevice() throws {
    #expect(try list([("a", 900, 100), ("a", 30, 200)]) == [video("a", 30, 200)])
  }

  @Test("An old position that comes late changes nothing, and one of the same time neither")
  func late() throws {
    #expect(try list([("a", 30, 200), ("a", 900, 100), ("a", 40, 200)]) == [video("a", 30, 200)])
  }

  @Test("Whatever the order in which positions come, the list is the same at the end")
  func anyOrder() throws {
    let reports: [(id: String, position: Int, at: Int?)] = [
      ("a", 10, 100), ("b", 20, 200), ("a", 30, 300), ("c", 40, 400), ("b", 50, 500),
    ]
    let expected = [video("b", 50, 500), video("c", 40, 400), video("a", 30, 300)]
    for order in Self.orders(reports) { #expect(try list(order) == expected) }
  }

  /// All orders of some elements.
  private static func orders<Element>(_ elements: [Element]) -> [[Element]] {
    guard elements.count > 1 else { return [elements] }
    return elements.indices.flatMap { index in
      var others = elements
      let first = others.remove(at: index)
      return orders(others).map { [first] + $0 }
    }
  }

  @Test("A device whose clock is fast counts as watching now, and does not win against later positions")
  func fastClock() throws {
    #expect(
      try list([("a", 10, 5_000), ("b", 5, nil), ("a", 20, nil)]) == [video("a", 20, 1_002), video("b", 5, 1_001)]
    )
  }

  @Test("A late position does not bring a finished video back")
  func finished() throws {
    var list = ListState()
    let end = WatchingAction.watch(id: "a", position: 900, isFinished: true, watchedAt: Self.time(200))
    let late = WatchingAction.watch(id: "a", position: 30, isFinished: false, watchedAt: Self.time(100))
    let again = WatchingAction.watch(id: "a", position: 5, isFinished: false, watchedAt: Self.time(300))
    let reactor = WatchingReactor(now: Self.time(1_000))
    for action in [end, late] { _ = try reactor.perform(action, on: &list) }
    #expect(list.elements(as: WatchedVideo.self).map(\.isFinished) == [true])
    _ = try reactor.perform(again, on: &list)
    #expect(list.elements(as: WatchedVideo.self) == [video("a", 5, 300)])
  }

  @Test("A full list drops its oldest video for a newer one, and ignores one that is older than all")
  func full() throws {
    let reports = (0..<WatchingReactor.limit).map { (id: "\($0)", position: 1, at: Int?.some(100 + $0)) }
    let videos = try list(reports + [("new", 1, 900), ("old", 1, 50)])
    #expect(videos.count == WatchingReactor.limit)
    #expect(videos.first?.id == "new" && videos.last?.id == "1")
  }

  @Test("A video is the same after it was written and read")
  func coding() {
    let video = WatchedVideo(id: "a", position: 5, isFinished: true, watchedAt: Self.time(300))
    var list = ListState()
    list.apply(.inserting(video, at: 0))
    #expect(list.elements(as: WatchedVideo.self) == [video])
  }
}
