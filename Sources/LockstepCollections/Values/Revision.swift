/// How many transactions had changed a user's state at a point of its history, and in which era the last of them did.
///
/// Revisions of one history are ordered by their numbers, which have no gaps. The era tells histories apart that share their
/// beginning: where an old copy of the store was put in the place of the present one, the numbers that were given out since
/// are given out again, for other transactions. Whoever remembers one of the lost history is recognised by its era.
///
/// In the store it's one integer: the number in the upper bits, so that it sorts, and the era in the lower 20.
public struct Revision: Sendable, Hashable, Comparable {
  /// Where every history begins.
  public static let none = Revision(rawValue: 0)

  /// How it's stored.
  package let rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }

  /// - Parameters:
  ///   - number: At most 2⁴³ - 1.
  ///   - era: When it was made.
  package init(number: Int, era: Era = .unknown) {
    rawValue = number << Era.bits | era.value
  }

  /// How many there were up to it, with it.
  package var number: Int { rawValue >> Era.bits }

  /// The one after it.
  package func next(in era: Era) -> Revision { Revision(number: number + 1, era: era) }

  /// In the order in which they were made.
  public static func < (left: Revision, right: Revision) -> Bool { left.rawValue < right.rawValue }
}

/// One run of a server on a store, from its start to its end: 20 random bits. Two runs that write the same revision, because
/// the second began with a copy of the store from before the first did, have the same one in a millionth of all cases.
package struct Era: Sendable, Hashable {
  static let bits = 20

  /// That of revisions from before there were eras.
  static let unknown = Era(value: 0)

  fileprivate let value: Int

  private init(value: Int) {
    self.value = value
  }

  /// - Parameter random: 64 random bits.
  package init(random: UInt64) {
    value = 1 + Int(random % (1 << Self.bits - 1))
  }

  /// The same run, for the history of one user. A device whose user changes, or who signs up anew, keeps no cursor that the other
  /// history takes for its own: revisions of two users that have the same number are alike in a millionth of all cases.
  package func of(_ user: UserID) -> Era {
    guard self != .unknown else { return self }
    return Era(random: UInt64(value) &+ user.uuid.low)
  }
}

/// As clients see it in a cursor: the number, and behind a hyphen the era, where that is known.
extension Revision: LosslessStringConvertible {
  /// The number, and behind a hyphen the era, where that is known.
  public var description: String { era.value == 0 ? String(number) : "\(number)-\(era.value)" }

  /// Reads the one form that `description` writes.
  public init?(_ text: String) { self.init(utf8: Array(text.utf8)[...]) }

  /// Reads the one form that `description` writes.
  package init?(utf8 text: ArraySlice<UInt8>) {
    let hyphen = text.firstIndex(of: UInt8(ascii: "-"))
    guard let number = Self.number(text[..<(hyphen ?? text.endIndex)]), number <= Int.max >> Era.bits else {
      return nil
    }
    guard let hyphen else {
      self.init(rawValue: number << Era.bits)
      return
    }
    // An era that is unknown isn't written.
    guard let era = Self.number(text[(hyphen + 1)...]), 0 < era, era < 1 << Era.bits else { return nil }
    self.init(rawValue: number << Era.bits | era)
  }

  /// A number without a sign, and without zeros before it.
  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    guard let first = digits.first, first != UInt8(ascii: "0") || digits.count == 1 else { return nil }
    var number = 0
    for digit in digits {
      // More than a revision has room for is none, whatever else follows.
      guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9"), number <= Int.max >> Era.bits else { return nil }
      number = number * 10 + Int(digit - UInt8(ascii: "0"))
    }
    return number
  }

  private var era: Era { Era(rawValue: rawValue) }
}

extension Era {
  fileprivate init(rawValue: Int) { self.init(value: rawValue & (1 << Self.bits - 1)) }
}
