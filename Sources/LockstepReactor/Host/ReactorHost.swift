/// Runs one reactor: takes actions in, reduces in one loop, shows states.
///
/// Nothing happens before `run()`, and everything that happens is a child of it: the loop, the
/// effects, the merged streams. Cancelling `run()`, or `close()`, is the whole lifetime. A host uses no
/// executor of its own choosing; all of it runs where `run()` runs.
///
///     let host = ReactorHost(Counter())
///     host.send(.increase)                        // order is fixed here
///     for await state in host.states { … }        // the latest state, then distinct ones
///     await host.run()                            // somewhere: a view's task, a server's group
public final class ReactorHost<R: Reactor>: ViewModel {
  /// The hosted reactor.
  public let reactor: R

  @usableFromInline let inbox: Inbox<R>
  @usableFromInline let outlets: Outlets<R>
  @usableFromInline let stages: Stages<R>
  private let actionFlow: Flow<R.Action>
  private let mutationFlow: Flow<R.Mutation>
  private let stateFlow: Flow<R.State>

  /// Makes a host that waits for `run()`. Actions may be sent before; they are handled then.
  ///
  /// - Parameters:
  ///   - reactor: The reactor, whose `transform` functions are called here, once.
  ///   - capacity: How many actions may be unsettled at a time: waiting, or with an effect that runs.
  ///     Further ones are refused. 1,024 unless told.
  ///   - trace: Is called by the loop for everything it does; must be quick and must not block.
  public init(
    _ reactor: R,
    capacity: Int = 1024,
    trace: (@Sendable (ReactorTrace<R>) -> Void)? = nil
  ) {
    self.reactor = reactor
    inbox = Inbox(capacity: capacity)
    actionFlow = reactor.transform(action: Flow())
    mutationFlow = reactor.transform(mutation: Flow())
    stateFlow = reactor.transform(state: Flow())
    let initial = reactor.initialState
    stages = Stages(actionFlow, mutationFlow, stateFlow)
    outlets = Outlets(initial: stages.state?(initial) ?? initial, trace: trace)
  }

  deinit {
    // A host that nobody ran: whoever waits for its states or failures would wait for ever.
    close()
  }

  /// Queues an action, synchronously: what is sent first is handled first, from whatever thread.
  ///
  /// An action sent while another is handled (by an observer of its state, say) is handled after it.
  /// Never blocks, never recurses. Whoever must not lose an action looks at the answer.
  @discardableResult
  @inlinable
  public func send(_ action: R.Action) -> Admission {
    inbox.admit(action, receipt: nil)
  }

  /// Queues an action as `send` does, and gives a receipt to wait on; throws ``AdmissionError`` if it is refused.
  @inlinable
  public func submit(_ action: R.Action) throws(AdmissionError) -> Receipt<R.State> {
    let receipt = Receipt<R.State>()
    switch inbox.admit(action, receipt: receipt) {
    case .accepted: return receipt
    case .full: throw .full
    case .closed: throw .closed
    }
  }

  /// The state that was shown last.
  @inlinable
  public var currentState: R.State { outlets.states.value }

  /// The latest state at once, then each newer one that differs; ends when the host has closed.
  ///
  /// Any number of watchers; one that is slow skips states, and never makes a queue grow.
  @inlinable
  public var states: LatestValues<R.State> { outlets.states.values }

  /// Errors, from this moment on. A bounded queue for each caller.
  @inlinable
  public func failures(capacity: Int = 256) -> EventStream<ReactorFailure<R.Action>> {
    outlets.failures.events(capacity: capacity)
  }

  /// Handles actions until the host is closed; returns when every effect has ended.
  ///
  /// To cancel the task is to call `close()`. A host runs once: a second call returns at once.
  @inlinable
  public func run() async {
    guard inbox.open() else { return }
    await withTaskCancellationHandler {
      await handleInputs()
    } onCancel: {
      inbox.close()
    }
    outlets.states.finish()
    outlets.failures.finish()
  }

  @inlinable
  func handleInputs() async {
    var loop = ReducingLoop(reactor: reactor, stages: stages, outlets: outlets, inbox: inbox)
    await withDiscardingTaskGroup { group in
      startMergedStreams(&group)
      var batch: [Input<R>] = []
      while await inbox.take(into: &batch) {
        for input in batch { loop.handle(input, &group) }
        batch.removeAll(keepingCapacity: true)
      }
      // The loop may see its cancellation before the handler that closes the inbox is called.
      inbox.close()
      group.cancelAll()
    }
    loop.abandon()
  }

  /// Ends it: nothing more is admitted, what is not handled yet is dropped, every effect is cancelled.
  ///
  /// Only the action that is being handled at this moment is handled to the end of what it causes at
  /// once; no other is given to `mutate`, and no further mutation of an effect or a stream is reduced.
  /// Who waits for what was dropped gets a `CancellationError`. Returns at once; `run()` returns when
  /// the last effect has ended.
  @inlinable
  public func close() {
    let wasRunning = inbox.close()
    if wasRunning { return }
    outlets.states.finish()
    outlets.failures.finish()
  }
}

// MARK: Merged streams

extension ReactorHost {
  @usableFromInline
  func startMergedStreams(_ group: inout DiscardingTaskGroup) {
    for source in actionFlow.sources {
      start(source, .actionStream, &group) { [inbox] action in
        switch await inbox.admitMerged(action) {
        case .accepted: break
        case .full: await inbox.report(.actionStream, MergedActionRefused())
        case .closed: throw CancellationError()
        }
      }
    }
    for source in mutationFlow.sources {
      start(source, .mutationStream, &group) { [inbox] mutation in
        guard await inbox.deliver({ .mergedMutation(mutation, $0) }) else { throw CancellationError() }
      }
    }
    for source in stateFlow.sources {
      start(source, .stateStream, &group) { [inbox] state in
        guard await inbox.deliver({ .mergedState(state, $0) }) else { throw CancellationError() }
      }
    }
  }

  private func start<Element: Sendable>(
    _ source: Flow<Element>.Source,
    _ origin: ReactorFailure<R.Action>.Origin,
    _ group: inout DiscardingTaskGroup,
    handOver: @escaping @Sendable (Element) async throws -> Void
  ) {
    group.addTask { [inbox] in
      do {
        try await source.run { event in
          switch event {
          case .success(let element):
            guard let stage = source.stage else { return try await handOver(element) }
            if let shaped = stage(element) { try await handOver(shaped) }
          case .failure(let gap):
            await inbox.report(origin, gap)
          }
        }
      } catch {
        if Task.isCancelled { return }
        await inbox.report(origin, error)
      }
    }
  }
}

/// Why an action was not queued.
public enum AdmissionError: Error, Hashable, CustomStringConvertible {
  /// As many actions as the host's capacity are not settled yet; try again later.
  case full
  /// The host is closed.
  case closed

  /// What happened and what to do.
  @inlinable
  public var description: String {
    switch self {
    case .full: "the reactor has as many unsettled actions as its capacity allows; try again later"
    case .closed: "the reactor is closed and takes no more actions"
    }
  }
}
