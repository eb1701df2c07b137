import LockstepClient
import Observation

/// One value of a map, such as a setting, for views that read and change it.
@MainActor
@Observable
public final class ValueModel<Value: Codable & Equatable & Sendable> {
  /// The value. A new value is shown at once, and written. If several values come while a write runs, such as from a
  /// slider, only the last one is written.
  public var value: Value {
    get { shown }
    set {
      shown = newValue
      guard let wanted else { return }
      choices += 1
      wanted.yield((choices, newValue))
    }
  }
  /// Why the last write could not be stored on this device.
  public internal(set) var failure: (any Error)?
  private var shown: Value
  private let fallback: Value
  @ObservationIgnored private var wanted: AsyncStream<(Int, Value)>.Continuation?
  /// Counts the values that the view has set.
  @ObservationIgnored private var choices = 0
  /// The number of the last value that was written. Until all values are written, the view shows its own value.
  @ObservationIgnored private var written = 0
  @ObservationIgnored private var tasks: [FollowingTask] = []
  @ObservationIgnored private weak var client: LockstepClient?

  /// A model of the value of a key. The model shows `fallback` while the key has no value.
  public convenience init(_ key: String, in map: SyncedMap, default fallback: Value) {
    self.init(fallback)
    follow(key, in: map)
  }

  /// A model that keeps its value in memory until `follow` is called.
  package init(_ fallback: Value) { (shown, self.fallback) = (fallback, fallback) }

  /// Follows a key of a client's defaults from now on, unless it does already.
  package func follow(_ key: String, suite: String, of client: LockstepClient) {
    if client === self.client { return }
    self.client = client
    follow(key, in: client.defaults(suite))
  }

  private func follow(_ key: String, in map: SyncedMap) {
    shown = map.value(key) ?? fallback
    (choices, written) = (0, 0)
    let (values, continuation) = AsyncStream<(Int, Value)>.makeStream(bufferingPolicy: .bufferingNewest(1))
    wanted = continuation
    tasks = [
      FollowingTask { [weak self] in
        for await value in map.values(of: key, as: Value.self) { self?.show(value) }
      },
      FollowingTask { [weak self] in
        for await (number, value) in values {
          do {
            try await map.set(key, value)
            self?.failure = nil
          } catch { self?.failure = error }
          if Task.isCancelled { return }
          self?.written = number
          // Another device may have changed it meanwhile.
          self?.show(map.value(key))
        }
      },
    ]
  }

  private func show(_ value: Value?) {
    let value = value ?? fallback
    if choices == written, !ElementCoding.areSame(shown, value) { shown = value }
  }
}

/// An object, such as the profile, for views.
@MainActor
@Observable
public final class ObjectModel<Value: Codable & Equatable & Sendable> {
  /// The object; nil if the type cannot read it.
  public private(set) var value: Value?
  /// Why the last write could not be stored on this device.
  public internal(set) var failure: (any Error)?
  @ObservationIgnored private let object: SyncedObject<Value>
  @ObservationIgnored private var following: FollowingTask?

  /// A model of an object.
  public init(_ object: SyncedObject<Value>) {
    (self.object, value) = (object, object.value)
    following = FollowingTask { [weak self, object] in
      for await value in object.values { self?.value = value }
    }
  }

  /// Writes the members that `changes` has.
  public func save(_ changes: some Encodable & Sendable) {
    Task { [object] in
      do {
        _ = try await object.save(changes)
        failure = nil
      } catch { failure = error }
    }
  }
}

/// The status of a client, for a banner such as "Offline. 3 changes are pending."
@MainActor
@Observable
public final class StatusModel {
  /// The present status.
  public private(set) var status: ClientStatus
  @ObservationIgnored private var following: FollowingTask?

  /// A model of a client's status.
  public init(_ client: LockstepClient) {
    status = client.status
    following = FollowingTask { [weak self] in
      for await status in client.statuses { self?.status = status }
    }
  }
}
