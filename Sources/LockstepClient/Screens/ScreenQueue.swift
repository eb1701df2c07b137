import Foundation
import LockstepReactor
import Synchronization

/// The actions that the server has not performed yet, in the order of `send`.
final class ScreenQueue<Action: ScreenAction>: Sendable {
  /// Actions that are sent in one request. The server performs all of them or none.
  struct Batch: Sendable {
    let key: String
    let actions: [Action]
    let body: [UInt8]
    /// Whether the batch was sent and got no response, so that the server may have performed it.
    var isUncertain = false
  }

  private struct Contents: Sendable {
    var waiting: [Action] = []
    var sending: Batch?
    /// How many of the next actions are sent alone, because their batch was refused.
    var alone = 0
    var isClosed = false

    var count: Int { waiting.count + (sending?.actions.count ?? 0) }
  }

  /// The most actions in one request, and about the most bytes. The server takes 500 actions and 64 KiB.
  private static var longestBatch: Int { 32 }
  private static var largestBatch: Int { 32 * 1024 }

  private let contents = Mutex(Contents())
  private let capacity: Int
  /// Counts what may be sent, so that the sender looks again.
  let changes = Latest(0)

  init(capacity: Int) { self.capacity = capacity }

  /// How many actions the server has not performed.
  var count: Int { contents.withLock { $0.count } }

  func admit(_ action: Action) -> SendResult {
    let result = contents.withLock { contents -> SendResult in
      if contents.isClosed { return .closed }
      if contents.count >= capacity { return .full }
      contents.waiting.append(action)
      return .accepted
    }
    if result == .accepted { notify() }
    return result
  }

  /// The batch to send next. `fail` gets actions that cannot be encoded.
  func next(key: () -> String, fail: (Action, any Error) -> Void) -> Batch? {
    contents.withLock { contents in
      if let sending = contents.sending { return sending }
      let limit = contents.alone > 0 ? 1 : Self.longestBatch
      var (taken, actions, bodies, size) = (0, [Action](), [Data](), 0)
      for action in contents.waiting.prefix(limit) {
        do {
          let body = try JSONEncoder().encode(action)
          if size > 0, size + body.count > Self.largestBatch { break }
          size += body.count
          actions.append(action)
          bodies.append(body)
        } catch {
          fail(action, error)
        }
        taken += 1
      }
      contents.waiting.removeFirst(taken)
      contents.alone = max(0, contents.alone - taken)
      guard !actions.isEmpty else { return nil }
      contents.sending = Batch(key: key(), actions: actions, body: Self.body(bodies))
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
      contents.waiting = batch.actions + contents.waiting
      contents.alone = batch.actions.count
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
      let unsent = (isUnknown ? [] : batch?.actions ?? []) + contents.waiting
      contents.alone = 0
      contents.waiting = keepsOthers ? unsent : []
      return (unknown, keepsOthers ? [] : unsent)
    }
  }

  /// Refuses further actions, and drops those in the queue.
  func close() {
    contents.withLock { contents in
      contents.isClosed = true
      (contents.waiting, contents.sending) = ([], nil)
    }
  }

  private func notify() { changes.publish(changes.value + 1) }

  /// One action as it is, several as an array.
  static func body(_ encoded: [Data]) -> [UInt8] {
    if encoded.count == 1 { return [UInt8](encoded[0]) }
    return Array("[".utf8) + encoded.joined(separator: Data(",".utf8)) + Array("]".utf8)
  }
}
