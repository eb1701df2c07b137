@_exported import Dispatch

// Declarations that `NetworkPaths` uses. Some SDKs declare the monitor as `Sendable`.

public struct NWPath: Sendable {
  public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
  public let status: Status
}

public final class NWPathMonitor {
  public var pathUpdateHandler: (@Sendable (NWPath) -> Void)?
  public init() {}
  public func start(queue: DispatchQueue) {}
  public func cancel() {}
}
