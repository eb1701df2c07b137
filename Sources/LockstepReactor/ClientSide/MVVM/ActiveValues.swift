extension LatestValues {
  /// These values while `isActive` is true. Each activation delivers the latest value if it differs
  /// from the one delivered before.
  ///
  /// Values from an inactive period are skipped. The sequence ends when either source ends. Before
  /// the end, it delivers the newest value if `isActive` is true.
  public func active(while isActive: LatestValues<Bool>) -> some AsyncSequence<Value, Never> & Sendable {
    SteppedSequence(start: { nil as Value? }) { [values = source, isActive = isActive.source] delivered, actor in
      while !Task.isCancelled {
        // Reads in this order, so that a value published after the deactivation is not delivered.
        let newest = values.look()
        let activity = isActive.look()
        if activity.value, newest.value != delivered {
          delivered = newest.value
          return newest.value
        }
        if newest.isFinished || activity.isFinished { return nil }
        await withTaskGroup(of: Void.self, isolation: actor) { group in
          group.addTask { _ = await values.next(after: newest.version, isolation: nil) }
          group.addTask { _ = await isActive.next(after: activity.version, isolation: nil) }
          await group.next()
          group.cancelAll()
        }
      }
      return nil
    }
  }
}
