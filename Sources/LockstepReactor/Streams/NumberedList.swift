/// Members in the order of their numbers. On average, adding the newest takes constant time and
/// removing any member takes logarithmic time.
@usableFromInline
struct NumberedList<Member> {
  @usableFromInline
  struct Entry {
    @usableFromInline let number: Int
    @usableFromInline var member: Member?

    @inlinable
    init(number: Int, member: Member) {
      self.number = number
      self.member = member
    }
  }

  @usableFromInline var entries: [Entry] = []
  /// How many entries have no member any more. They are removed when they are the majority.
  @usableFromInline var vacancies = 0

  @inlinable
  init() {}

  var count: Int { entries.count - vacancies }

  var members: some Sequence<Member> { entries.lazy.compactMap(\.member) }

  @inlinable
  mutating func insert(_ member: Member, number: Int) {
    entries.append(Entry(number: number, member: member))
    // Two tasks may take their numbers in one order and the lock in the other order.
    var position = entries.count - 1
    while position > 0, entries[position - 1].number > number {
      entries.swapAt(position - 1, position)
      position -= 1
    }
  }

  @inlinable
  mutating func remove(number: Int) -> Member? {
    guard let index = index(of: number), let member = entries[index].member else { return nil }
    entries[index].member = nil
    vacancies += 1
    if vacancies * 2 > entries.count {
      entries.removeAll { $0.member == nil }
      vacancies = 0
    }
    return member
  }

  @inlinable
  func index(of number: Int) -> Int? {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].number < number { low = middle + 1 } else { high = middle }
    }
    guard low < entries.count, entries[low].number == number else { return nil }
    return low
  }
}

extension NumberedList: Sendable where Member: Sendable {}
extension NumberedList.Entry: Sendable where Member: Sendable {}
