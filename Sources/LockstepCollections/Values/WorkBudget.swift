import LockstepJSON
import LockstepSchema
import Synchronization

/// The steps that the work of a request may still take: checks of values by schemas, patches, and the
/// elements that its actions read and write. All actions of the request share them.
///
/// A step takes 10 to 40 ns, such as one of a schema's check, or reading or copying 16 bytes. Code that
/// has used up the budget stops early, and its result means nothing. Its caller asks `isExhausted`.
///
/// The work of a request moves from thread to thread, but is never on two of them at once.
@usableFromInline
package final class WorkBudget: Sendable {
  /// How many steps the actions of a request may take, read and decided once. They hold a thread for
  /// some tens of milliseconds at most.
  package static let ofRequest = 2_000_000
  /// How many steps an event loop or the writer thread takes for a request: less than a millisecond.
  /// Longer work is done by other threads.
  package static let short = 20_000
  private static let bytesPerStep = 16

  private let left: Atomic<Int>

  package init(steps: Int) { left = Atomic(steps) }

  package var isExhausted: Bool { left.load(ordering: .relaxed) < 0 }

  /// How many steps are left.
  package var steps: Int { max(0, left.load(ordering: .relaxed)) }

  /// Takes the steps for work that takes time in proportion to some bytes.
  package func spend(bytes: Int) { left.subtract(bytes / Self.bytesPerStep, ordering: .relaxed) }

  /// Takes the steps for an element or value that is decoded, changed and compared.
  package func spend(decodedBytes count: Int) { spend(bytes: 2 * count) }

  /// The faults of a value.
  package func faults(of value: JSON, by schema: ValueSchema) -> [SchemaFault] {
    var steps = left.load(ordering: .relaxed)
    guard steps >= 0 else { return [] }
    defer { left.store(steps, ordering: .relaxed) }
    return schema.faults(of: value, steps: &steps)
  }

  /// The units of `JSONPatchLimits` that a patch may take.
  var units: Int { steps * Self.bytesPerStep }

  /// Takes all but these units. A negative number means that the units did not suffice. An exhausted
  /// budget stays exhausted.
  func leave(units: Int) {
    guard !isExhausted else { return }
    left.store(units < 0 ? -1 : units / Self.bytesPerStep, ordering: .relaxed)
  }
}

/// The actions of a request need more work than a request may cause.
package struct TooMuchWorkError: Error {
  package init() {}
}
