@testable import LockstepCollections

/// Most revisions in tests have no era, so a number is enough.
extension Revision: ExpressibleByIntegerLiteral {
  /// A revision with this number.
  public init(integerLiteral number: Int) { self.init(number: number) }
}
