import LockstepReactor
import Synchronization

/// A pulse of a screen: an event in its state that must have an effect once, such as a route.
public struct ScreenPulse<Value: Sendable>: Sendable {
  /// The value, such as the route.
  public let value: Value
  /// How many pulses fired between the last one that the reader got and this one.
  public let missed: Int

  /// A pulse, for tests of views.
  public init(value: Value, missed: Int = 0) { (self.value, self.missed) = (value, missed) }
}

extension ScreenPulse: Equatable where Value: Equatable {}

/// The pulses in one member of a screen's state, each once.
///
/// A pulse is an object with an integer `id`, which grows by 1 each time it fires. So a second tap on the same row is
/// a second pulse, and a change of another member is none. If the screen was lost and opened again, its pulses count
/// from 1 again.
public struct ScreenPulses<State: Equatable & Sendable, Value: Identifiable & Sendable>: AsyncSequence, Sendable
where Value.ID == Int {
  /// Reading cannot fail.
  public typealias Failure = Never

  let base: LatestValues<ShownState<State>>
  let member: any KeyPath<State, Value?> & Sendable
  let delivered: DeliveredPulses<State>

  /// A reader. It begins with the present pulse, unless an earlier reader has got that pulse.
  public func makeAsyncIterator() -> Iterator {
    Iterator(base: base.makeAsyncIterator(), member: member, delivered: delivered, last: delivered[member])
  }

  /// Reads the pulses.
  public struct Iterator: AsyncIteratorProtocol {
    var base: LatestValues<ShownState<State>>.Iterator
    let member: any KeyPath<State, Value?> & Sendable
    let delivered: DeliveredPulses<State>
    var last: PulseNumber

    /// The next pulse; nil when the screen has ended, or the task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> ScreenPulse<Value>? {
      while let shown = await base.next(isolation: actor) {
        guard shown.opening > 0, let value = shown.state[keyPath: member], value.id > 0 else { continue }
        let number = PulseNumber(opening: shown.opening, id: value.id)
        guard last < number else { continue }
        let known = last.opening == shown.opening ? last.id : 0
        last = number
        delivered.note(number, of: member)
        return ScreenPulse(value: value, missed: Swift.max(0, value.id - known - 1))
      }
      return nil
    }
  }
}

/// A state, and the screen of the server that it belongs to.
struct ShownState<State: Equatable & Sendable>: Equatable, Sendable {
  /// Counts the screens that were opened; 0 before the first.
  let opening: Int
  let state: State
}

/// The place of a pulse among those of its member.
struct PulseNumber: Comparable, Sendable {
  var opening = 0
  var id = 0

  static func < (left: PulseNumber, right: PulseNumber) -> Bool {
    (left.opening, left.id) < (right.opening, right.id)
  }
}

/// The last pulse of each member that a reader has got.
final class DeliveredPulses<State>: Sendable {
  typealias Member = any PartialKeyPath<State> & Sendable

  /// A screen has few members with pulses.
  private let numbers = Mutex<[(member: Member, number: PulseNumber)]>([])

  subscript(member: Member) -> PulseNumber {
    numbers.withLock { numbers in numbers.first { $0.member == member }?.number ?? PulseNumber() }
  }

  func note(_ number: PulseNumber, of member: Member) {
    numbers.withLock { numbers in
      if let index = numbers.firstIndex(where: { $0.member == member }) {
        numbers[index].number = max(numbers[index].number, number)
      } else {
        numbers.append((member, number))
      }
    }
  }
}
