import CAllocationCounter
import Testing

@testable import LockstepJSON

/// The cost of some work, in counts that depend neither on the machine nor on its load.
private struct Cost {
  /// Comparisons and moves of members.
  var operations: Int
  var allocatedBytes: UInt

  init(of work: () throws -> Void) rethrows {
    let counter = OperationCounter()
    let before = allocated_bytes()
    try OperationCounter.$current.withValue(counter, operation: work)
    allocatedBytes = allocated_bytes() - before
    operations = counter.count.load(ordering: .relaxed)
  }
}

/// How many times as much work of eight times the size costs: 8 where it is linear, 64 where it is quadratic.
private func growth<Input>(
  from size: Int,
  of input: (Int) -> Input,
  _ work: (Int, Input) throws -> Void
) rethrows -> (operations: Double, allocatedBytes: Double) {
  func cost(_ size: Int) throws -> Cost {
    let input = input(size)
    return try Cost { try work(size, input) }
  }
  // Allocations that happen only once must not count.
  _ = try cost(size)
  let (small, large) = (try cost(size), try cost(size * 8))
  return (
    Double(large.operations) / Double(max(1, small.operations)),
    Double(large.allocatedBytes) / Double(max(1, small.allocatedBytes))
  )
}

/// Expects that work costs at most in proportion to its size, give or take a factor of two.
func expectLinearGrowth<Input>(
  from size: Int,
  of input: (Int) -> Input,
  sourceLocation: SourceLocation = #_sourceLocation,
  _ work: (Int, Input) throws -> Void
) rethrows {
  let growth = try growth(from: size, of: input, work)
  #expect(growth.operations <= 16, sourceLocation: sourceLocation)
  #expect(growth.allocatedBytes <= 16, sourceLocation: sourceLocation)
}

@Suite("Counting the cost of work", .timeLimit(.minutes(10)))
struct GrowthTests {
  @Test("Quadratic comparisons, moves and copies are found")
  func quadratic() {
    let comparisons = growth(from: 20, of: { (0..<$0).map { "name\($0)" } }) { _, names in
      for name in names { _ = names.filter { $0.hasSameBytes(as: name) } }
    }
    #expect(comparisons.operations == 64)
    let moves = growth(from: 20, of: { JSONObject((0..<$0).map { ("name\($0)", JSON($0)) }) }) { count, object in
      var object = object
      for number in 0..<count { object["name\(number)"] = nil }
    }
    #expect(moves.operations > 32)
    let copies = growth(from: 100, of: { Array(0..<$0) }) { count, numbers in
      var numbers = numbers
      for place in 0..<count {
        let copy = numbers
        numbers[place] = -1
        withExtendedLifetime(copy) {}
      }
    }
    // Sanitizers have an allocator of their own, which does not count.
    #expect(copies.allocatedBytes > 32 || allocated_bytes() == 0)
  }

  @Test("Linear work is not taken for quadratic work")
  func linear() {
    expectLinearGrowth(from: 100, of: { $0 }) { count, _ in
      var numbers: [Int] = []
      for number in 0..<count { numbers.append(number) }
    }
  }
}
