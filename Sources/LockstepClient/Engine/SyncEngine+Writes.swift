import LockstepReactor

/// The writes of the app.
extension SyncEngine {
  /// Adds a write. When this returns, it is on disk and shown.
  func write(_ actions: [ClientAction]) throws -> PendingWrite { try write(actions, condition: nil) }

  /// The same with a condition.
  func write(_ actions: [ClientAction], condition: WriteCondition?) throws -> PendingWrite {
    var base: ChangesDocument.Position?
    if condition != nil {
      guard let position = copy.position else {
        throw ClientFailure("There is no copy of the state yet, so a condition has no meaning.")
      }
      base = outbox.base(for: actions, at: position)
    }
    var entry = outbox.add(actions, key: environment.newKey(), at: environment.now())
    if let base {
      outbox.change(entry.number) { $0.base = base }
      entry.base = base
    }
    do {
      try store.write(ClientStore.Change(writes: [entry.number: entry]))
    } catch {
      outbox.remove(entry.number)
      throw error
    }
    let progress = Latest(WriteProgress.pending)
    outcomes[entry.number] = progress
    if let condition { resolvers[entry.number] = condition.resolve }
    view.add(outbox)
    show(.local)
    writes.publish(writes.value + 1)
    return PendingWrite(number: entry.number, progress: progress)
  }

  /// Removes a write that was not sent yet. Returns false if it was.
  func cancel(_ number: Int64) throws -> Bool {
    guard let entry = outbox[number], entry.sentAt == nil, entry.isWaiting else { return false }
    try remove(entry, because: ClientFailure("The write was cancelled."))
    return true
  }

  /// Removes a refused write.
  func dismiss(_ number: Int64) throws {
    guard let entry = outbox[number], entry.refusal != nil else { return }
    try remove(entry, because: nil)
  }

  /// Sends a refused write again, as a new one.
  func retry(_ number: Int64) throws -> PendingWrite? {
    guard let entry = outbox[number], entry.refusal != nil else { return nil }
    try remove(entry, because: nil)
    return try write(entry.actions)
  }

  func remove(_ entry: OutboxEntry, because failure: ClientFailure?) throws {
    try store.write(ClientStore.Change(writes: [entry.number: nil]))
    outbox.remove(entry.number)
    if let failure { settle(entry.number, .failure(failure)) }
    rebuild(.local)
  }

  func settle(_ number: Int64, _ outcome: Outcome) {
    resolvers[number] = nil
    guard let progress = outcomes.removeValue(forKey: number) else { return }
    switch outcome {
    case .success(let result): progress.publish(.confirmed(result))
    case .failure(let failure): progress.publish(.failed(failure))
    }
    progress.finish()
  }
}
