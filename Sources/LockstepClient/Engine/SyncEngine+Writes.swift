import LockstepReactor

/// The writes of the app.
extension SyncEngine {
  /// Adds a write. When this returns, it is on disk and shown.
  func write(_ actions: [ClientAction], condition: WriteCondition?) throws -> PendingWrite {
    guard (1...ClientAction.mostActions).contains(actions.count) else {
      throw ClientFailure(
        .app,
        "A transaction has 1 to \(ClientAction.mostActions) actions, and this one has \(actions.count)."
      )
    }
    var entry = newEntry(actions)
    try view.check(entry)
    let user = owner.user
    try update {
      // The app has not made the write for a user who has logged in meanwhile, or who will log in.
      if owner.isLoggedOut || user != nil && owner.user != user { throw ClientFailure.loggedOut }
      entry.number = outbox.nextNumber
      if condition != nil {
        guard let position = copy.position else {
          throw ClientFailure(.noCopy, "A write cannot have a condition before the client has a copy of the state.")
        }
        entry.base = outbox.base(for: actions, at: position)
      }
      return StoreChange(writes: [entry.number: entry])
    }
    return show(entry, condition)
  }

  /// A write of this process. Its number is only certain within `update`, because another process may use it.
  private func newEntry(_ actions: [ClientAction]) -> OutboxEntry {
    var entry = outbox.entry(actions, key: environment.newKey(), at: environment.now())
    entry.process = process
    return entry
  }

  /// Removes a write that was not sent yet. Returns false if it was.
  func cancel(_ write: PendingWrite) throws -> Bool {
    // Another client may have a write with this number.
    guard outcomes[write.number] === write.progress else { return false }
    let failure = ClientFailure(.cancelled, "The app has cancelled the write.")
    return try remove(write.number, because: failure) { $0.isWaiting && $0.sentAt == nil }
  }

  /// Removes a refused write.
  func dismiss(_ write: RefusedWrite) throws { try remove(write.number, because: nil) { $0.isRefused(as: write) } }

  /// Sends a refused write again, as a new one.
  func retry(_ write: RefusedWrite) throws -> PendingWrite? {
    let number = write.number
    var added: OutboxEntry?
    try update {
      guard let refused = outbox[number], refused.isRefused(as: write) else { return nil }
      let entry = newEntry(refused.actions)
      added = entry
      return StoreChange(writes: [number: nil, entry.number: entry])
    }
    guard let added else { return nil }
    outbox.remove(number)
    return show(added, nil)
  }

  /// Shows a write that is in the file.
  private func show(_ entry: OutboxEntry, _ condition: WriteCondition?) -> PendingWrite {
    let progress = Latest(WriteProgress.pending)
    outcomes[entry.number] = progress
    conditions[entry.number] = condition
    outbox.put(entry)
    view.add(outbox)
    show(.local)
    writes.publish(writes.value + 1)
    return PendingWrite(number: entry.number, progress: progress)
  }

  /// Removes a write that meets a condition. Returns whether it did.
  @discardableResult
  func remove(
    _ number: Int64,
    because failure: ClientFailure?,
    if isWanted: (OutboxEntry) -> Bool
  ) throws -> Bool {
    var removed: OutboxEntry?
    try update {
      guard let entry = outbox[number], isWanted(entry) else { return nil }
      removed = entry
      return StoreChange(
        writes: [number: nil],
        outcomes: failure.flatMap { outcomeForOthers(of: entry, .failure($0)) } ?? [:]
      )
    }
    if removed == nil { return false }
    outbox.remove(number)
    if let failure { settle(number, .failure(failure)) }
    rebuild(.local)
    return true
  }

  /// The outcome of a write that another process has made.
  func outcomeForOthers(of entry: OutboxEntry, _ outcome: WriteOutcome) -> [Int64: WriteOutcome]? {
    guard let maker = entry.process, maker != process, ProcessName.mayRun(maker) else { return nil }
    return [entry.number: outcome]
  }

  func settle(_ number: Int64, _ outcome: WriteOutcome) {
    (conditions[number], conflicts[number]) = (nil, nil)
    guard let progress = outcomes.removeValue(forKey: number) else { return }
    switch outcome {
    case .success(let result): progress.publish(.confirmed(result))
    case .failure(let failure): progress.publish(.failed(failure))
    }
    progress.finish()
  }

  func settleAll(_ failure: ClientFailure) {
    for number in outcomes.keys.sorted() { settle(number, .failure(failure)) }
  }
}
