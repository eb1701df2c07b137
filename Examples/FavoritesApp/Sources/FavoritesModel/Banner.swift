import LockstepClient

/// The text above the list: about the connection, and about changes that wait. If all changes have reached the server,
/// there is none.
public struct Banner: Equatable, Sendable {
  /// A button for the user.
  public enum Remedy: Sendable {
    case tryNow
    case logIn
  }

  /// The sentences.
  public let text: String
  /// Nil if there is nothing to do.
  public let remedy: Remedy?

  /// The banner for a status; nil for none.
  public init?(_ status: ClientStatus) {
    var sentences: [String] = []
    var remedy: Remedy?
    switch status.connection {
    case .offline: (sentences, remedy) = (["Offline."], .tryNow)
    case .needsLogin: (sentences, remedy) = ([status.isReady ? "Log in again." : "Log in."], .logIn)
    case .failed: sentences = [status.failure?.sentence ?? "The server refuses the app."]
    case .stopped, .connecting, .live: break
    }
    if let failure = status.storeFailure { sentences += ["Changes cannot be kept on this device.", failure.sentence] }
    // While the connection is live, changes wait for a moment only.
    if status.connection != .live {
      switch status.pending {
      case 0: break
      case 1: sentences.append("1 change waits.")
      case let count: sentences.append("\(count) changes wait.")
      }
    }
    if sentences.isEmpty { return nil }
    (text, self.remedy) = (sentences.joined(separator: " "), remedy)
  }
}
