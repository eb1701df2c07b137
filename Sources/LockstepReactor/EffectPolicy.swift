/// How the host treats an action while effects of earlier actions still run.
///
/// The host asks for the policy *before* it calls `mutate`. An ignored action never reaches
/// `mutate`. A waiting action reaches `mutate` when its lane is free, with the state of that time.
public enum EffectPolicy: Sendable, Hashable {
  /// Every effect runs, concurrently with all others.
  case all
  /// The newest wins: the host cancels the lane's running effects and drops their later mutations.
  case latest(Lane)
  /// The first wins: the host ignores the action while another one of the lane runs or waits.
  case first(Lane)
  /// One after another, in the order of sending: the action waits until the lane is free.
  case serial(Lane)
}

/// A name that groups effects for a policy. Hosts do not share lanes.
public struct Lane: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The name.
  public let description: String

  /// A lane with a computed name, such as one lane for each photo.
  public init(_ name: String) { description = name }
  /// A lane with a fixed name.
  public init(stringLiteral name: String) { description = name }

  /// Compares bytes, because a name may contain an id. Ids with the same characters in two encodings
  /// are two ids.
  public static func == (left: Lane, right: Lane) -> Bool {
    left.description.utf8.elementsEqual(right.description.utf8)
  }

  /// Hashes the name.
  public func hash(into hasher: inout Hasher) { hasher.combine(description) }
}
