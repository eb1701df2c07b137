#if canImport(Network)
  import Dispatch
  import Network
#endif

/// The moments at which the device has a network again.
enum NetworkPaths {
  #if canImport(Network)
    /// `@unchecked Sendable`: any thread may start and cancel a monitor.
    private final class Monitor: @unchecked Sendable {
      let paths = NWPathMonitor()
    }

    static var returns: AsyncStream<Void> {
      AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
        let monitor = Monitor()
        monitor.paths.pathUpdateHandler = { path in if path.status == .satisfied { continuation.yield() } }
        continuation.onTermination = { _ in monitor.paths.cancel() }
        monitor.paths.start(queue: .global())
      }
    }
  #else
    /// This system does not notify apps of networks. The next attempt to connect notices a network.
    static var returns: AsyncStream<Void> { AsyncStream { $0.finish() } }
  #endif
}
