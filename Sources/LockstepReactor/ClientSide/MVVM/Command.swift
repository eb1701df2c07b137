/// Work that a user starts: one run at a time, and only while the input allows it.
///
/// In one atomic step, `execute` checks the newest input and disables the command. It passes that
/// same input to the work.
public final class Command<Input: Sendable, Output: Sendable>: Sendable {
  private struct Gate: Sendable {
    var input: Input
    var isAllowed: Bool
    var isExecuting = false

    var isOpen: Bool { isAllowed && !isExecuting }
  }

  private let gate: AwaitableState<Gate>
  private let isAllowed: @Sendable (Input) -> Bool
  private let work: @Sendable (Input) async throws -> Output
  private let enabledFlag: Latest<Bool>
  private let executingFlag = Latest(false)
  private let outputSubject = DispatchSubject<Output>()
  private let errorSubject = DispatchSubject<any Error>()

  /// Makes a command that runs `work` with its newest input.
  ///
  /// - Parameters:
  ///   - input: The first input.
  ///   - isAllowed: Whether the command may run with an input. Called once for each input.
  ///   - work: The work.
  public init(
    input: Input,
    isAllowed: @escaping @Sendable (Input) -> Bool = { _ in true },
    work: @escaping @Sendable (Input) async throws -> Output
  ) {
    let allowed = isAllowed(input)
    gate = AwaitableState(Gate(input: input, isAllowed: allowed))
    enabledFlag = Latest(allowed)
    self.isAllowed = isAllowed
    self.work = work
  }

  /// Whether `execute` would run now: the input is allowed, and no run is executing.
  public var isEnabled: Bool { enabledFlag.value }
  /// Whether the command is enabled, now and after every change.
  public var enabled: LatestValues<Bool> { enabledFlag.values }
  /// Whether the work is running.
  public var isExecuting: Bool { executingFlag.value }
  /// Whether the work is running, now and after every change.
  public var executing: LatestValues<Bool> { executingFlag.values }
  /// The results of the work, from now on.
  public func values() -> EventStream<Output> { outputSubject.events() }
  /// The errors of the work, from now on. Cancellation is not an error.
  public func errors() -> EventStream<any Error> { errorSubject.events() }

  /// Replaces the input. A running execution keeps the input it started with.
  public func update(_ input: Input) {
    let allowed = isAllowed(input)
    // Returns the old input, so that it is released after the lock.
    _ = change { gate -> Input in
      let replaced = gate.input
      gate.input = input
      gate.isAllowed = allowed
      return replaced
    }
  }

  /// If the command is enabled, runs the work in the calling task with the newest input.
  @discardableResult
  public func execute() async -> CommandOutcome<Output> {
    let admitted = change { gate -> Result<Input, CommandOutcome<Output>.Refusal> in
      if gate.isExecuting { return .failure(.executing) }
      if !gate.isAllowed { return .failure(.disabled) }
      gate.isExecuting = true
      return .success(gate.input)
    }
    switch admitted {
    case .failure(let refusal): return .refused(refusal)
    case .success(let input): return await run(input)
    }
  }

  private func run(_ input: Input) async -> CommandOutcome<Output> {
    defer { change { $0.isExecuting = false } }
    do {
      let output = try await work(input)
      outputSubject.dispatch(output)
      return .value(output)
    } catch {
      // Cancelled work may throw any error, for example that of a closed connection.
      if error is CancellationError || Task.isCancelled { return .cancelled }
      errorSubject.dispatch(error)
      return .failed(error)
    }
  }

  /// Publishes the flags under the lock of the gate, so that the last change is published last.
  private func change<Result: Sendable>(_ body: (inout Gate) -> Result) -> Result {
    let (result, wakes) = gate.withState { gate in
      let before = gate
      let result = body(&gate)
      var wakes: [Wake] = []
      if gate.isOpen != before.isOpen { wakes.append(enabledFlag.publishDeferringWake(gate.isOpen).wake) }
      if gate.isExecuting != before.isExecuting {
        wakes.append(executingFlag.publishDeferringWake(gate.isExecuting).wake)
      }
      return (result, wakes)
    }
    for wake in wakes { wake.resume() }
    return result
  }
}

/// How an execution of a command ended.
public enum CommandOutcome<Output: Sendable>: Sendable {
  /// Why a command did not run.
  public enum Refusal: Error, Hashable {
    /// The newest input is not allowed.
    case disabled
    /// The command is already running.
    case executing
  }

  /// The result of the work.
  case value(Output)
  /// The error of the work.
  case failed(any Error)
  /// The work was cancelled.
  case cancelled
  /// The work was not started.
  case refused(Refusal)
}
