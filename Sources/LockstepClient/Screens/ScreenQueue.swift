import LockstepJSON
import LockstepReactor
import Synchronization

/// The actions that the server has not performed yet, in the order of `send`.
final class ScreenQueue<Action: ScreenAction>: Sendable {
  /// An action and its encoding.
  struct Entry: Sendable {
    let action: Action
    let encoded: [UInt8]

    init(_ action: Action) throws {
      self.action = action
      let json = try ElementCoding.json(action)
      encoded = json.encoded()
      if json["type"]?.stringValue == nil {
        throw ClientFailure(.app, "An action must be an object with a `type`: see ScreenAction.")
      }
    }
  }

  /// Actions that are sent in one request. The server performs all of them or none.
  struct Batch: Sendable {
    let key: String
    let entries: [Entry]

    var actions: [Action] { entries.map(\.action) }
    /// Whether the batch was sent and got no response, so that the server may have performed it.
    var isUncertain = false
  }

  private struct Contents: Sendable {
    var waiting: [Entry] = []
    var sending: Batch?
    /// How many of the next actions are sent alone, because their batch was refused.
    var alone = 0
    var isClosed = false

    var count: Int { waiting.count + (sending?.entries.count ?? 0) }
  }

  /// The most actions in one request, and about the most bytes. The server takes 500 actions and 64 KiB.
  private static var longestBatch: Int { 32 }
  private static var largestBatch: Int { 32 * 1024 }

  private let contents = Mutex(Contents())
  private let capacity: Int
  /// Counts the changes of the queue, so that the sender reads it again.
  let changes = Latest(0)
  private let changeCount = Atomic(0)

  init(capacity: Int) { self.capacity = capacity }

  /// How many actions the server has not performed.
  var count: Int { contents.withLock { $0.count } }

  func admit(_ entry: Entry) -> SendResult {
    let result = contents.withLock { contents -> SendResult in
      if contents.isClosed { return .closed }
      if contents.count >= capacity { return .full }
      contents.waiting.append(entry)
      return .accepted
    }
    if result == .accepted { notify() }
    return result
  }

  /// The batch to send next. If it is a new batch, its key is `key`.
  func next(key: String) -> Batch? {
    contents.withLock { contents in
      if let sending = contents.sending { return sending }
      var (entries, size) = ([Entry](), 0)
      for entry in contents.waiting.prefix(contents.alone > 0 ? 1 : Self.longestBatch) {
        size += entry.encoded.count
        if !entries.isEmpty, size > Self.largestBatch { break }
        entries.append(entry)
      }
      guard !entries.isEmpty else { return nil }
      contents.waiting.removeFirst(entries.count)
      contents.alone = max(0, contents.alone - entries.count)
      contents.sending = Batch(key: key, entries: entries)
      return contents.sending
    }
  }

  /// Notes whether the server may have performed the batch.
  func mark(isUncertain: Bool) { contents.withLock { $0.sending?.isUncertain = isUncertain } }

  /// Removes the batch, which the server has performed or refused.
  func settle() { contents.withLock { $0.sending = nil } }

  /// Sends the actions of the batch one by one, because the server has refused one of them, and performed none.
  func split() {
    contents.withLock { contents in
      guard let batch = contents.sending.take() else { return }
      contents.waiting = batch.entries + contents.waiting
      contents.alone = batch.entries.count
    }
    notify()
  }

  /// The screen of the batch has ended. Returns the actions which the ended screen may have performed, and, if
  /// `keepsOthers` is false, all others too; the queue forgets them.
  func endScreen(keepsOthers: Bool) -> (unknown: [Action], dropped: [Action]) {
    contents.withLock { contents in
      let batch = contents.sending.take()
      let isUnknown = batch?.isUncertain ?? false
      let unknown = isUnknown ? batch?.actions ?? [] : []
      let unsent = (isUnknown ? [] : batch?.entries ?? []) + contents.waiting
      contents.alone = 0
      contents.waiting = keepsOthers ? unsent : []
      return (unknown, keepsOthers ? [] : unsent.map(\.action))
    }
  }

  /// Refuses further actions, and drops those in the queue.
  func close() {
    contents.withLock { contents in
      contents.isClosed = true
      (contents.waiting, contents.sending) = ([], nil)
    }
  }

  /// Each number is another one, so that no watcher takes two changes for one.
  private func notify() { changes.publish(changeCount.add(1, ordering: .relaxed).newValue) }
}

extension ScreenQueue.Batch {
  /// One action as it is, several as an array.
  var body: [UInt8] { entries.count == 1 ? entries[0].encoded : Self.array(of: entries) }

  /// The actions as an array, which is one step.
  var step: [UInt8] { Self.array(of: entries) }

  private static func array(of entries: [ScreenQueue.Entry]) -> [UInt8] {
    Array("[".utf8) + entries.map(\.encoded).joined(separator: Array(",".utf8)) + Array("]".utf8)
  }
}
