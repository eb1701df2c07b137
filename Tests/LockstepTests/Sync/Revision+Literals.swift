@testable import LockstepCollections

/// In tests most revisions are of no era: their numbers say all about them.
extension Revision: ExpressibleByIntegerLiteral {
  /// The revision of that number.
  public init(integerLiteral number: Int) { self.init(number: number) }
}
