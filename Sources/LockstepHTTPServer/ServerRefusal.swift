import LockstepHTTP

/// An answer that the engine gave by itself, because what came was no request or there was no room for one.
///
/// Nothing of what the client sent is in it: it may be told to anybody.
public struct ServerRefusal: Sendable {
  /// Who was refused.
  public let peer: PeerAddress
  /// Why.
  public let kind: ProblemKind
  /// The event loop that did it, from 0.
  public let loop: Int
}
