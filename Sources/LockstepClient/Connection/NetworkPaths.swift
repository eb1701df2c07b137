#if canImport(Network)
  import Network
#endif

/// The moments at which the device has a network again.
enum NetworkPaths {
  #if canImport(Network)
    static var returns: AsyncStream<Void> {
      AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
        let monitor = NWPathMonitor()
        monitor.pathUpdateHandler = { path in if path.status == .satisfied { continuation.yield() } }
        continuation.onTermination = { _ in monitor.cancel() }
        monitor.start(queue: .global())
      }
    }
  #else
    /// This system does not tell. The next attempt finds out.
    static var returns: AsyncStream<Void> { AsyncStream { $0.finish() } }
  #endif
}
