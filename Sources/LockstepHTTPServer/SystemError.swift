import Glibc

/// A system call that failed.
public struct SystemError: Error, CustomStringConvertible, Equatable {
  /// The name of the call.
  public let call: String
  /// The value of `errno`, or the call's own error code.
  public let code: Int32
  /// The purpose of the call.
  public let purpose: String
  /// The reason for the failure.
  public let reason: String

  /// A failure of `call`. Make it right after the call: the code defaults to `errno`, and the
  /// reason to the system's text for it.
  public init(_ call: String, purpose: String, code: Int32 = errno, reason: String? = nil) {
    self.call = call
    self.purpose = purpose
    self.code = code
    self.reason = reason ?? String(cString: strerror(code))
  }

  /// For example: `cannot listen on 127.0.0.1:80: Permission denied (bind, errno 13)`.
  public var description: String {
    // A call with codes of its own has them below zero.
    "cannot \(purpose): \(reason) (\(call), \(code < 0 ? "code" : "errno") \(code))"
  }
}
