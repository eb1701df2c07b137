import Synchronization

#if _pointerBitWidth(_32)
  #error("A revision is an Int of 64 bits. On watchOS, leave out the architecture arm64_32.")
#endif

/// The number of transactions that have changed a user's state up to a point, and the era of the
/// last one.
///
/// Revisions of one history are ordered by their numbers, which have no gaps. The era distinguishes
/// two histories with the same beginning. After an operator has put back an old copy of the store,
/// the server gives the same numbers to other transactions. By the era, the server recognises a
/// client's revision of the lost history.
///
/// The store keeps a revision as one integer, so that SQLite can sort revisions. The number is in
/// the upper bits, and the era is in the lower 20.
public struct Revision: Sendable, Hashable, Comparable {
  /// The revision before the first transaction.
  public static let none = Revision(rawValue: 0)

  /// The integer in the store.
  package let rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }

  /// - Parameters:
  ///   - number: At most 2⁴³ - 1.
  ///   - era: The era in which the revision was made.
  package init(number: Int, era: Era = .unknown) {
    rawValue = number << Era.bits | era.value
  }

  /// A stored revision.
  package init(number: Int, eraNumber: Int) {
    rawValue = number << Era.bits | eraNumber
  }

  /// The number of transactions up to this revision, including the one that made it.
  package var number: Int { rawValue >> Era.bits }

  /// The era as it is stored; 0 if it is unknown.
  package var eraNumber: Int { rawValue & (1 << Era.bits - 1) }

  package func next(in era: Era) -> Revision { Revision(number: number + 1, era: era) }

  /// Whether this revision is later in the same history. A greater number of another era belongs to a
  /// lost history.
  package func isAhead(of other: Revision) -> Bool { number > other.number && eraNumber == other.eraNumber }

  /// Orders by the number, then by the era.
  public static func < (left: Revision, right: Revision) -> Bool { left.rawValue < right.rawValue }
}

/// One run of a server on a store, from start to end, as 20 random bits.
///
/// Two runs can write the same revision number if the second run started with an older copy of the
/// store. Their eras are equal in about one case in a million.
package struct Era: Sendable, Hashable {
  static let bits = 20

  /// The era of revisions that were written before the store had eras.
  static let unknown = Era(value: 0)

  fileprivate let value: Int

  fileprivate init(value: Int) {
    self.value = value
  }

  package init(random: UInt64) {
    value = 1 + Int(random % (1 << Self.bits - 1))
  }

  /// The era of one user's history in this run. Two users normally have different eras. So if
  /// another user logs in on a device, the device's old cursor does not match the new user's
  /// history.
  package func of(_ user: UserID) -> Era {
    guard self != .unknown else { return self }
    return Era(random: UInt64(value) &+ user.uuid.low)
  }
}

/// The era of this process. On PostgreSQL, each connection of the writer begins a new one, because after a
/// failover the server could give out the same numbers again.
package final class EraSource: Sendable {
  private let value: Atomic<Int>
  private let histories = Atomic(0)
  private let next: @Sendable () -> Era

  /// `next` makes a new era.
  package init(_ next: @escaping @Sendable () -> Era) {
    self.next = next
    value = Atomic(next().value)
  }

  /// How often the database has begun another history, in which commits may be missing.
  package var history: Int { histories.load(ordering: .acquiring) }

  /// Begins an era, because the store's connection is new. `isOtherHistory`: the database may have lost commits.
  package func begin(isOtherHistory: Bool = false) {
    value.store(next().value, ordering: .releasing)
    if isOtherHistory { histories.add(1, ordering: .acquiringAndReleasing) }
  }

  package var current: Era { Era(value: value.load(ordering: .acquiring)) }
}

// The form in cursors.
extension Revision: LosslessStringConvertible {
  /// The number, then a hyphen and the era if the era is known.
  public var description: String {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends the form that `description` returns.
  func append(to bytes: inout [UInt8]) {
    Self.append(number, to: &bytes)
    guard eraNumber != 0 else { return }
    bytes.append(UInt8(ascii: "-"))
    Self.append(eraNumber, to: &bytes)
  }

  private static func append(_ number: Int, to bytes: inout [UInt8]) {
    var unit: UInt = 1
    while number.magnitude / unit >= 10 { unit *= 10 }
    while unit > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(number.magnitude / unit % 10))
      unit /= 10
    }
  }

  /// Reads the exact form that `description` writes.
  public init?(_ text: String) { self.init(utf8: Array(text.utf8)[...]) }

  package init?(utf8 text: ArraySlice<UInt8>) {
    let hyphen = text.firstIndex(of: UInt8(ascii: "-"))
    guard let number = Self.number(text[..<(hyphen ?? text.endIndex)]), number <= Int.max >> Era.bits else {
      return nil
    }
    guard let hyphen else {
      self.init(rawValue: number << Era.bits)
      return
    }
    // 0 is not valid, because `description` leaves out an unknown era.
    guard let era = Self.number(text[(hyphen + 1)...]), 0 < era, era < 1 << Era.bits else { return nil }
    self.init(rawValue: number << Era.bits | era)
  }

  /// Reads a number without a sign and without leading zeros.
  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    guard let first = digits.first, first != UInt8(ascii: "0") || digits.count == 1 else { return nil }
    var number = 0
    for digit in digits {
      // Stops before `number` overflows.
      guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9"), number <= Int.max >> Era.bits else { return nil }
      number = number * 10 + Int(digit - UInt8(ascii: "0"))
    }
    return number
  }
}
