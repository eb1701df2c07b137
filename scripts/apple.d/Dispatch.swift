@_exported import Darwin

// Declarations that `StoreNeighbors` and `NetworkPaths` use.

open class DispatchQueue: @unchecked Sendable {
  public class func global() -> DispatchQueue { fatalError() }
}

public protocol DispatchSourceProtocol: AnyObject {
  typealias DispatchSourceHandler = @Sendable () -> Void
  func setEventHandler(handler: DispatchSourceHandler?)
  func setCancelHandler(handler: DispatchSourceHandler?)
  func activate()
  func cancel()
}

public protocol DispatchSourceFileSystemObject: DispatchSourceProtocol {}

open class DispatchSource {
  public struct FileSystemEvent: OptionSet, Sendable {
    public static let write = FileSystemEvent(rawValue: 2)
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
  }

  public class func makeFileSystemObjectSource(
    fileDescriptor: Int32,
    eventMask: FileSystemEvent,
    queue: DispatchQueue? = nil
  ) -> any DispatchSourceFileSystemObject { fatalError() }
}
