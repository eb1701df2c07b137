/// Runs one reactor: queues actions, reduces in one loop, and publishes states.
///
/// Nothing happens before `run()`. The loop, the effects and the merged streams are child tasks of
/// `run()`; the loop reads merged ``LatestValues`` itself. Cancelling `run()`, or calling `close()`, ends all of them. A host runs on the executor
/// of the task that called `run()`.
///
///     let host = ReactorHost(Counter())
///     host.send(.increase)                        // handled in the order of the calls
///     for await state in host.states { … }        // the latest, then each that differs
///     await host.run()                            // in another task, such as a view's
public final class ReactorHost<R: Reactor>: ViewModel {
  /// The hosted reactor.
  public let reactor: R

  @usableFromInline let inbox: Inbox<R>
  @usableFromInline let outputs: HostOutputs<R>
  @usableFromInline let flows: Flows<R>

  /// Makes a host. Actions sent before `run()` are handled when the host runs.
  ///
  /// - Parameters:
  ///   - reactor: The reactor. Its `transform` functions are called here, once.
  ///   - capacity: How many actions may wait or have a running effect at a time. The host refuses
  ///     more.
  ///   - trace: Called by the loop for each event. It must be quick and must not block.
  public init(
    _ reactor: R,
    capacity: Int = 1024,
    trace: (@Sendable (ReactorTrace<R>) -> Void)? = nil
  ) {
    self.reactor = reactor
    inbox = Inbox(capacity: capacity)
    flows = Flows(of: reactor)
    let initial = reactor.initialState
    outputs = HostOutputs(states: Latest(flows.state.transformed(initial) ?? initial), trace: trace)
  }

  /// Ends the sequences of a host that never ran. Otherwise their readers would wait for ever.
  deinit { close() }

  /// Queues an action. Actions of all threads are handled in the order of `send`.
  ///
  /// `send` never blocks. An action that is sent while another one is handled waits for its turn.
  /// Check the result if the action must not be lost.
  @discardableResult
  @inlinable
  public func send(_ action: R.Action) -> SendResult {
    inbox.admit(.action(action, nil))
  }

  /// Queues an action as `send` does, and returns a receipt to wait on.
  @inlinable
  public func submit(_ action: R.Action) throws(AdmissionError) -> Receipt<R.State> {
    let receipt = Receipt<R.State>()
    try inbox.admit(.action(action, receipt)).check()
    return receipt
  }

  /// The newest state that observers see.
  @inlinable
  public var currentState: R.State { outputs.states.value }

  /// The latest state at once, then each newer one that differs. Ends when the host has closed.
  ///
  /// Any number of tasks can watch. A slow watcher skips states; no queue grows.
  @inlinable
  public var states: LatestValues<R.State> { outputs.states.values }

  /// The failures from now on. Each call returns a new bounded queue.
  @inlinable
  public func failures(capacity: Int = 256) -> EventStream<ReactorFailure<R.Action>> {
    outputs.failures.events(capacity: capacity)
  }

  /// Handles actions until the host is closed; returns when every effect has ended.
  ///
  /// Cancelling the task closes the host. A host runs only once: a second call returns immediately.
  @inlinable
  public func run() async {
    guard inbox.open() else { return }
    await withTaskCancellationHandler {
      await handleInputs()
    } onCancel: {
      inbox.close()
    }
    outputs.finish()
  }

  @inlinable
  func handleInputs() async {
    var loop = ReducingLoop(reactor: reactor, flows: flows, outputs: outputs, inbox: inbox)
    await withDiscardingTaskGroup { group in
      startMergedStreams(&group)
      loop.startFollowing()
      var batch: [Input<R>] = []
      while await inbox.take(into: &batch) {
        for input in batch { loop.handle(input, &group) }
        batch.removeAll(keepingCapacity: true)
      }
      // The loop may see the cancellation before the handler has closed the inbox.
      inbox.close()
      group.cancelAll()
    }
    loop.abandon()
  }

  /// Closes the host: it refuses further actions, drops the queued ones and cancels every effect.
  ///
  /// The loop still reduces the current action's immediate mutations, but no others. Tasks that
  /// wait for dropped actions get a `CancellationError`. `run()` returns when the last effect has
  /// ended.
  @inlinable
  public func close() {
    if !inbox.close() { outputs.finish() }
  }
}

// MARK: Merged streams

extension ReactorHost {
  @usableFromInline
  func startMergedStreams(_ group: inout DiscardingTaskGroup) {
    for source in flows.action.sources {
      start(source, .actionStream, &group) { [inbox] action in
        switch await inbox.admitMerged(action) {
        case .accepted: break
        case .full: await inbox.report(.actionStream, MergedActionRefusal())
        case .closed: throw CancellationError()
        }
      }
    }
    for source in flows.mutation.sources {
      start(source, .mutationStream, &group) { [inbox] mutation in
        try await inbox.deliver { .mergedMutation(mutation, $0) }
      }
    }
    for source in flows.state.sources {
      start(source, .stateStream, &group) { [inbox] state in
        try await inbox.deliver { .mergedState(state, $0) }
      }
    }
  }

  private func start<Element: Sendable>(
    _ source: Flow<Element>.Source,
    _ origin: ReactorFailure<R.Action>.Origin,
    _ group: inout DiscardingTaskGroup,
    handOver: @escaping @Sendable (Element) async throws -> Void
  ) {
    guard case .byTask(let read) = source.reading else { return }
    group.addTask { [inbox] in
      do {
        try await read { event in
          switch event {
          case .success(let element):
            guard let transform = source.transform else { return try await handOver(element) }
            if let transformed = transform(element) { try await handOver(transformed) }
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

/// Why a host did not queue an action.
public enum AdmissionError: Error, Hashable, CustomStringConvertible {
  /// The host is at its capacity: too many actions wait or have a running effect. Try again later.
  case full
  /// The host is closed.
  case closed

  /// The cause, and what to do.
  @inlinable
  public var description: String {
    switch self {
    case .full: "The host is at its capacity: too many actions wait or have a running effect. Try again later."
    case .closed: "The host is closed and accepts no more actions."
    }
  }
}
