import LockstepJSON
import LockstepReactor

/// The result of a write that the server has applied.
public struct WriteResult: Sendable, Equatable {
  /// The position after the write.
  public let cursor: String
  /// One result for each action, as the server returned it.
  public let results: [JSON]
}

/// How a write has ended.
typealias WriteOutcome = Result<WriteResult, ClientFailure>

extension Result where Success == WriteResult, Failure == ClientFailure {
  /// The form in the store.
  var json: JSON {
    switch self {
    case .success(let result): ["cursor": .string(result.cursor), "results": .array(result.results)]
    case .failure(let failure): ["failure": failure.json]
    }
  }

  init(_ json: JSON) {
    if let failure = json["failure"] {
      self = .failure(ClientFailure(stored: failure))
    } else {
      self = .success(
        WriteResult(cursor: json["cursor"]?.stringValue ?? "", results: json["results"]?.arrayValue ?? [])
      )
    }
  }
}

/// How far a write has come.
enum WriteProgress: Sendable, Equatable {
  case pending
  case confirmed(WriteResult)
  case failed(ClientFailure)
}

/// A write that is on disk and shown. The client sends it when there is a connection.
public struct PendingWrite: Sendable {
  let number: Int64
  let progress: Latest<WriteProgress>

  /// Waits until the server has applied the write. Throws `ClientFailure` if the server refuses the write, if the app
  /// has cancelled it, or if the user has logged out. Throws `CancellationError` if the task is cancelled, or if the
  /// client was released with all its collections. The write stays in the file then, and the next client sends it.
  public var confirmed: WriteResult {
    get async throws {
      for await progress in progress.values {
        switch progress {
        case .pending: continue
        case .confirmed(let result): return result
        case .failed(let failure): throw failure
        }
      }
      throw CancellationError()
    }
  }
}
