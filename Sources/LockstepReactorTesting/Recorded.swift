/// An event of a sequence: an element, or the end with or without an error.
public enum Event<Element> {
  /// An element.
  case next(Element)
  /// The end, with an error.
  case error(any Error)
  /// The end.
  case completed
}

extension Event: Sendable where Element: Sendable {}

extension Event: Equatable where Element: Equatable {
  /// Errors are equal if they print the same, because most errors are not `Equatable`.
  public static func == (left: Event, right: Event) -> Bool {
    switch (left, right) {
    case (.next(let left), .next(let right)): left == right
    case (.error(let left), .error(let right)): String(reflecting: left) == String(reflecting: right)
    case (.completed, .completed): true
    default: false
    }
  }
}

/// An event and the virtual time at which it happened: one row of a test's table.
public struct Recorded<Element> {
  /// The time in ticks of the scheduler.
  public let time: Int
  /// The event.
  public let event: Event<Element>

  /// Makes a row.
  public init(time: Int, event: Event<Element>) {
    self.time = time
    self.event = event
  }

  /// A row with an element.
  public static func next(_ time: Int, _ element: Element) -> Recorded {
    Recorded(time: time, event: .next(element))
  }

  /// A row with an error.
  public static func error(_ time: Int, _ error: any Error) -> Recorded {
    Recorded(time: time, event: .error(error))
  }

  /// A row with the end.
  public static func completed(_ time: Int) -> Recorded {
    Recorded(time: time, event: .completed)
  }
}

extension Recorded: Sendable where Element: Sendable {}
extension Recorded: Equatable where Element: Equatable {}

extension Recorded: CustomStringConvertible {
  /// The row in one line.
  public var description: String {
    switch event {
    case .next(let element): "\(time): next(\(element))"
    case .error(let error): "\(time): error(\(error))"
    case .completed: "\(time): completed"
    }
  }
}

/// When a reading of a sequence began and ended.
public struct Subscription: Sendable, Equatable, CustomStringConvertible {
  /// When the reading began.
  public let from: Int
  /// When the reading ended; `nil` while it continues.
  public let to: Int?

  /// Makes a subscription.
  public init(_ from: Int, _ to: Int? = nil) {
    self.from = from
    self.to = to
  }

  /// Both times.
  public var description: String { "\(from)...\(to.map(String.init) ?? "")" }
}
