/// What to do with an action while effects of earlier actions of the same lane still run.
///
/// A policy is chosen *before* `mutate` is called, so an ignored action has decided nothing, and one
/// that waits decides on the state of the moment when its turn comes.
public enum EffectPolicy: Sendable, Hashable {
  /// Every effect runs, beside all others.
  case all
  /// The newest wins: what runs in the lane is cancelled, and none of its later mutations is reduced.
  case latest(Lane)
  /// The first wins: while something runs in the lane the action is ignored.
  case first(Lane)
  /// One after another: the action waits until nothing runs in the lane, in the order of sending.
  case serial(Lane)
}

/// A name under which effects know of each other. Lanes belong to one host, never to the process.
public struct Lane: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The name.
  public let description: String

  /// A lane with a computed name, such as one for each photo.
  public init(_ name: String) { description = name }
  /// A lane with a fixed name.
  public init(stringLiteral name: String) { description = name }
}
