/// What it means to be on a loop, as an actor: its executor is the loop.
///
/// Whoever is isolated to it is on the loop's thread, wherever the call came from; the compiler and the runtime see to
/// that. It costs less than a preferred executor alone, whose every return from a call asks for the preference anew.
actor LoopIsolation {
  // Whoever holds an isolation also holds a connection, and a connection holds its loop.
  private unowned let loop: EventLoop

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(_ loop: EventLoop) {
    self.loop = loop
  }
}
