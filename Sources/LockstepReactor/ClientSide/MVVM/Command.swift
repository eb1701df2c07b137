/// Work that a person starts: one at a time, and only while its inputs allow it.
///
/// The gate closes before the work starts, and the inputs that the gate was opened for are the
/// inputs that the work is given: both are one step. Of inputs given in a row the newest counts.
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

  /// A command that does `work` on its newest input.
  ///
  /// - Parameters:
  ///   - input: The first input.
  ///   - isAllowed: Whether the command may run with an input. Called once for each, when it is given.
  ///   - work: What the command does.
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

  /// Whether `execute` would run now: allowed, and not executing.
  public var isEnabled: Bool { enabledFlag.value }
  /// Enabled or not at once, then every change.
  public var enabled: LatestValues<Bool> { enabledFlag.values }
  /// Whether the work runs.
  public var isExecuting: Bool { executingFlag.value }
  /// Executing or not at once, then every change.
  public var executing: LatestValues<Bool> { executingFlag.values }
  /// What the work gives, from now on.
  public func values() -> EventStream<Output> { outputSubject.events() }
  /// What the work throws, from now on. Cancellation is no error.
  public func errors() -> EventStream<any Error> { errorSubject.events() }

  /// Gives the command new inputs. A run that is under way keeps those it started with.
  public func update(_ input: Input) {
    let allowed = isAllowed(input)
    // The old input is handed out, so that it is released after the lock.
    _ = change { gate -> Input in
      let replaced = gate.input
      gate.input = input
      gate.isAllowed = allowed
      return replaced
    }
  }

  /// Runs the work in the calling task with the newest input, or refuses and does nothing.
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
      // Cancelled work may say so by any error, such as that of a connection that was closed.
      if error is CancellationError || Task.isCancelled { return .cancelled }
      errorSubject.dispatch(error)
      return .failed(error)
    }
  }

  /// The flags follow the gate under its lock, so that what is seen last is what is.
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
    /// Its inputs do not allow it.
    case disabled
    /// It is running already.
    case executing
  }

  /// The work gave this.
  case value(Output)
  /// The work threw this.
  case failed(any Error)
  /// The work was cancelled, and threw for that reason.
  case cancelled
  /// The work was not started.
  case refused(Refusal)
}
