/// Newest values that are merged into a flow. Only the reducing loop uses them.
struct MergedValues<Element: Sendable> {
  let spacing: Spacing?
  /// The next value. `nil` if the conversion dropped it.
  let poll: (ChangeSignal) -> Polled<Element?>
  let forget: (_ ticket: Int) -> Void

  init<Values: PolledIterator>(
    _ values: Values,
    _ spacing: Spacing?,
    _ convert: @escaping @Sendable (Values.Element) -> Element?
  ) {
    var values = values
    self.spacing = spacing
    poll = { values.poll($0).map(convert) }
    forget = { values.forget($0) }
  }

  private init(
    _ spacing: Spacing?,
    poll: @escaping (ChangeSignal) -> Polled<Element?>,
    forget: @escaping (Int) -> Void
  ) {
    (self.spacing, self.poll, self.forget) = (spacing, poll, forget)
  }

  func compactMap<Converted>(_ convert: @escaping (Element) -> Converted?) -> MergedValues<Converted> {
    MergedValues<Converted>(spacing, poll: { [poll] in poll($0).map { $0.flatMap(convert) } }, forget: forget)
  }
}

/// The shortest time between two changes of merged values.
struct Spacing: Sendable {
  let interval: Duration
  let clock: any Clock<Duration>
}

/// Merged values of any flow of a reactor, and where the loop is in them.
@usableFromInline
final class FollowedValues<R: Reactor> {
  enum Merged: Sendable {
    case action(R.Action)
    case mutation(R.Mutation)
    case state(R.State)
  }

  let values: MergedValues<Merged>
  let signal: ChangeSignal
  /// Set while the signal waits to be sent.
  var ticket: Int?
  var count = 0

  init(_ values: MergedValues<Merged>, _ signal: ChangeSignal) {
    (self.values, self.signal) = (values, signal)
  }
}

extension ReducingLoop {
  @usableFromInline
  mutating func startFollowing() {
    follow(flows.action) { .action($0) }
    follow(flows.mutation) { .mutation($0) }
    follow(flows.state) { .state($0) }
  }

  private mutating func follow<Element>(
    _ flow: Flow<Element>,
    _ merge: @escaping (Element) -> FollowedValues<R>.Merged
  ) {
    for source in flow.sources {
      guard case .byLoop(let start) = source.reading else { continue }
      let values = start().compactMap { element in
        guard let transform = source.transform else { return merge(element) }
        return transform(element).map(merge)
      }
      let index = followed.count
      followed.append(FollowedValues(values, ChangeSignal { [inbox] in inbox.post(.changed(index)) }))
      inbox.post(.changed(index))
    }
  }

  /// Reads the next value, if there is one. The turn of the one after it comes after the inputs that
  /// already wait.
  @usableFromInline
  mutating func readValues(at index: Int, _ group: inout DiscardingTaskGroup) {
    let followed = followed[index]
    followed.ticket = nil
    switch followed.values.poll(followed.signal) {
    case .element(let merged):
      followed.count += 1
      if let merged { add(merged) }
      if let spacing = followed.values.spacing, followed.count > 1 {
        group.addTask { [inbox] in
          // The sleep fails only if the host closes.
          do { try await spacing.clock.sleep(for: spacing.interval) } catch { return }
          inbox.post(.changed(index))
        }
      } else {
        inbox.post(.changed(index))
      }
    case .waiting(let ticket):
      followed.ticket = ticket
    case .ended:
      break
    }
  }

  private mutating func add(_ merged: FollowedValues<R>.Merged) {
    switch merged {
    case .action(let action):
      if inbox.admit(.mergedAction(action, nil)) == .full {
        report(ReactorFailure(origin: .actionStream, error: MergedActionRefusal()))
      }
    case .mutation(let mutation):
      apply(mutation)
    case .state(let state):
      show(state)
    }
  }

  /// The values may live longer than the host, so they must not keep its signals.
  @usableFromInline
  func stopFollowing() {
    for followed in followed {
      if let ticket = followed.ticket { followed.values.forget(ticket) }
    }
  }
}

extension Polled {
  fileprivate func map<Converted>(_ convert: (Element) -> Converted) -> Polled<Converted> {
    switch self {
    case .element(let element): .element(convert(element))
    case .waiting(let ticket): .waiting(ticket)
    case .ended: .ended
    }
  }
}
