#if canImport(Network)
  import Network

  /// The moments at which the device has a network again.
  enum NetworkPaths {
    static var returns: AsyncStream<Void> {
      AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
        let monitor = NWPathMonitor()
        monitor.pathUpdateHandler = { path in if path.status == .satisfied { continuation.yield() } }
        continuation.onTermination = { _ in monitor.cancel() }
        monitor.start(queue: .global())
      }
    }
  }
#else
  /// This system does not tell when it has a network again. The next attempt finds out.
  enum NetworkPaths {
    static var returns: AsyncStream<Void> { AsyncStream { _ in } }
  }
#endif
