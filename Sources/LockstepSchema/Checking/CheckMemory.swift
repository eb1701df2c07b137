import LockstepJSON

/// Remembers which schemas accept which arrays and objects inside a value.
///
/// A recursive schema can apply one schema to one part of a value in many ways, such as once for each
/// schema of a `oneOf` in each of its ancestors. Without this memory, the number of ways grows
/// exponentially with the depth of the value.
struct CheckMemory {
  /// Shorter checks use no memory of results, because it needs an allocation.
  static let firstStep = 512
  /// The greatest number of results, which take about 1 MiB. After that, nothing is added.
  private static let capacity = 32_768

  private struct Key: Hashable {
    /// The address of the members or elements. The value lives as long as the check and does not
    /// change, so no other part gets the same address. Two parts that share their storage are equal.
    let part: UInt
    let schema: SubschemaID
  }

  private var results: [Key: Bool] = [:]

  subscript(value: JSON, schema: SubschemaID) -> Bool? {
    get { Self.address(of: value).flatMap { results[Key(part: $0, schema: schema)] } }
    set {
      guard let newValue, results.count < Self.capacity, let part = Self.address(of: value) else { return }
      results[Key(part: part, schema: schema)] = newValue
    }
  }

  /// Nil for a value without parts. The pointers are not used, only compared as numbers.
  private static func address(of value: JSON) -> UInt? {
    switch value {
    case .array(let elements) where !elements.isEmpty:
      elements.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    case .object(let object) where !object.isEmpty:
      object.members.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    default: nil
    }
  }
}
