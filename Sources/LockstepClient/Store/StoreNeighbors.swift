import Dispatch
import LockstepSQLite

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The other processes that use a client's file.
struct StoreNeighbors: Sendable {
  /// Notifies the other processes that this process has changed the file.
  let notify: @Sendable () -> Void
  /// An element at once, and whenever another process may have changed the file. Several changes may be one
  /// element.
  let changes: @Sendable () -> AsyncStream<Void>
}

extension StoreNeighbors {
  /// The processes that use the file at `path`. After a change, a process writes a byte to the file `<path>-changed`,
  /// and the system notifies the other processes of that write.
  static func ofFile(_ path: String) throws(LockstepClientError) -> StoreNeighbors {
    let signal = try ChangeSignal(path: path + "-changed")
    return StoreNeighbors(notify: { signal.notify() }, changes: { signal.changes() })
  }
}

/// A file whose writes notify other processes.
private final class ChangeSignal: Sendable {
  private let path: String
  private let descriptor: Int32

  init(path: String) throws(LockstepClientError) {
    self.path = path
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor >= 0 { return }
    // The app gets the same error as for the client's file, which is beside this one.
    let number = errno
    let message = "the file \(path) cannot be opened: \(String(cString: strerror(number)))"
    throw LockstepClientError(SQLiteError(extendedCode: 14, message: message, path: path, systemError: number))
  }

  deinit { close(descriptor) }

  /// If this fails, the other processes notice the change later, when they read the file for another reason.
  func notify() {
    // The byte lives until the call returns.
    _ = withUnsafeBytes(of: UInt8(1)) { pwrite(descriptor, $0.baseAddress, 1, 0) }
  }

  func changes() -> AsyncStream<Void> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      continuation.yield()
      guard let found = source(yieldingTo: continuation) else { return }
      // Any thread may cancel a source.
      nonisolated(unsafe) let source = found
      continuation.onTermination = { _ in source.cancel() }
      source.activate()
    }
  }

  #if canImport(Darwin)
    private func source(yieldingTo continuation: AsyncStream<Void>.Continuation) -> (any DispatchSourceProtocol)? {
      let watched = open(path, O_EVTONLY | O_CLOEXEC)
      if watched < 0 { return nil }
      let source = DispatchSource.makeFileSystemObjectSource(fileDescriptor: watched, eventMask: .write)
      source.setEventHandler { continuation.yield() }
      source.setCancelHandler { close(watched) }
      return source
    }
  #else
    private func source(yieldingTo continuation: AsyncStream<Void>.Continuation) -> (any DispatchSourceProtocol)? {
      let watched = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
      if watched < 0 { return nil }
      guard inotify_add_watch(watched, path, UInt32(IN_MODIFY)) >= 0 else {
        close(watched)
        return nil
      }
      let source = DispatchSource.makeReadSource(fileDescriptor: watched)
      source.setEventHandler {
        // The descriptor is open until the cancel handler runs, and the buffer has the size that `read` gets.
        // Which events came does not matter.
        let events = UnsafeMutableRawBufferPointer.allocate(byteCount: 4_096, alignment: 8)
        defer { events.deallocate() }
        while read(watched, events.baseAddress, events.count) > 0 {}
        continuation.yield()
      }
      source.setCancelHandler { close(watched) }
      return source
    }
  #endif
}
