/// The handling of an action while effects of earlier actions of the same lane still run.
///
/// The host asks for the policy *before* it calls `mutate`. An ignored action never reaches
/// `mutate`. For an action that waits, `mutate` gets the state at the time when the lane is free.
public enum EffectPolicy: Sendable, Hashable {
  /// Every effect runs, concurrently with all others.
  case all
  /// The newest wins: the lane's running effect is cancelled, and its later mutations are dropped.
  case latest(Lane)
  /// The first wins: while an effect of the lane runs, the action is ignored.
  case first(Lane)
  /// One after another: the action waits until the lane is free, in the order of sending.
  case serial(Lane)
}

/// A name that groups effects for a policy. Lanes belong to one host.
public struct Lane: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The name.
  public let description: String

  /// A lane with a computed name, such as one for each photo.
  public init(_ name: String) { description = name }
  /// A lane with a fixed name.
  public init(stringLiteral name: String) { description = name }
}
