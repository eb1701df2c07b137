#if canImport(SwiftUI)
  import LockstepClient
  import SwiftUI

  extension EnvironmentValues {
    /// The client of the app: `.environment(\.lockstep, client)`.
    public var lockstep: LockstepClient? {
      get { self[LockstepClientKey.self] }
      set { self[LockstepClientKey.self] = newValue }
    }
  }

  private struct LockstepClientKey: EnvironmentKey {
    static let defaultValue: LockstepClient? = nil
  }

  extension ValueModel {
    /// The value as a binding, such as for a toggle.
    public var binding: Binding<Value> { Bindable(self).value }
  }

  /// A setting that is the same on all devices of the user.
  ///
  ///     @Synced("theme") private var theme = "light"
  ///
  /// The client comes from the environment. Without a client, the view keeps the setting in memory.
  @propertyWrapper
  @MainActor
  public struct Synced<Value: Codable & Equatable & Sendable>: @preconcurrency DynamicProperty {
    private let key: String
    private let suite: String
    @Environment(\.lockstep) private var client
    @State private var model: ValueModel<Value>

    /// A setting with a key of a suite.
    public init(wrappedValue: Value, _ key: String, suite: String = "standard") {
      (self.key, self.suite) = (key, suite)
      _model = State(initialValue: ValueModel(wrappedValue))
    }

    /// Follows the client of the environment.
    public func update() { if let client { model.follow(key, suite: suite, of: client) } }

    /// The value.
    public var wrappedValue: Value {
      get { model.value }
      nonmutating set { model.value = newValue }
    }

    /// The value as a binding.
    public var projectedValue: Binding<Value> { model.binding }
  }
#endif
