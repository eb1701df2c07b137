import CLockstepPostgreSQL
import Glibc

extension PostgreSQLConnection {
  /// Subscribes to the channel. If a transaction is open, the subscription begins with its commit.
  package func listen(_ channel: String) throws(PostgreSQLError) {
    let name = channel.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
    try execute("LISTEN \"\(name)\"", .listen)
  }

  /// Waits for notifications of the channels that this connection listens on.
  ///
  /// - Parameters:
  ///   - limit: The longest wait. With zero, the call returns what has arrived.
  ///   - interrupt: Ends the wait from another thread.
  /// - Returns: All notifications that have arrived; none after the time or an interrupt.
  /// - Throws: An error of the kind `lostConnection`.
  package func notifications(
    waitingAtMost limit: Duration,
    interrupt: PostgreSQLInterrupt? = nil
  ) throws(PostgreSQLError) -> [PostgreSQLNotification] {
    let connection = try open(.listen)
    let deadline = ContinuousClock.now + limit
    while true {
      // Other calls of this connection may have read notifications.
      guard libpq.functions.consumeInput(connection) == 1 else { throw lost(.listen) }
      let notifications = arrivedNotifications(connection)
      if !notifications.isEmpty { return notifications }
      var interests = [(libpq.functions.socket(connection), Int(POLLIN))]
      if let interrupt { interests.append((interrupt.descriptor, Int(POLLIN))) }
      guard let ready = SocketWait.wait(for: interests, until: deadline) else { return [] }
      // Notifications that arrived with an interrupt are returned by the next call.
      if let interrupt, ready[1], interrupt.consume() { return [] }
    }
  }

  private func arrivedNotifications(_ connection: OpaquePointer) -> [PostgreSQLNotification] {
    var notifications: [PostgreSQLNotification] = []
    while let notification = libpq.functions.notifies(connection) {
      defer { libpq.functions.freemem(notification) }
      notifications.append(
        PostgreSQLNotification(
          channel: String(cString: notification.pointee.relname),
          payload: String(cString: notification.pointee.extra),
          pid: notification.pointee.be_pid
        )
      )
    }
    return notifications
  }
}
