import Glibc

/// A system call that failed: which, on what, and why.
public struct SystemError: Error, CustomStringConvertible, Equatable {
  /// The call's name.
  public let call: String
  /// The value of `errno`, or what else the call has for it.
  public let code: Int32
  /// What was being done.
  public let purpose: String
  /// Why it failed.
  public let reason: String

  /// A failure of `call`, made right behind it: the code is `errno` unless given, and the reason what the system says of it.
  public init(_ call: String, purpose: String, code: Int32 = errno, reason: String? = nil) {
    self.call = call
    self.purpose = purpose
    self.code = code
    self.reason = reason ?? String(cString: strerror(code))
  }

  /// For example: `cannot listen on 127.0.0.1:80: Permission denied (bind, errno 13)`.
  public var description: String {
    // A call that names its reason itself counts in codes of its own, below zero.
    "cannot \(purpose): \(reason) (\(call), \(code < 0 ? "code" : "errno") \(code))"
  }
}
