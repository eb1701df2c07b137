import LockstepHTTP

extension Limits {
  /// The limits of the operator's requests, which have places of their own.
  static let forOperator: Limits = {
    var limits = Limits()
    // Few, because the descriptors for them are reserved.
    limits.connections = 8
    limits.body = 64 * 1024 * 1024
    limits.bodyMemory = 2 * limits.body
    return limits
  }()
}
