import LockstepHTTP

/// A cache of the requests that an event loop got at least twice, with responses that it may send
/// again.
///
/// Behind a reverse proxy, the requests of many users share a few connections. So the cache finds a
/// request by the bytes of its head, and not by its connection.
///
/// - A request is cached when it arrives for the second time. Requests that never repeat take no
///   room.
/// - The memory is bounded. The cache evicts requests that have not arrived recently.
struct RecentRequests {
  /// Longer heads are not kept.
  static let longestHead = 2048
  private static let shortestHead = 8
  /// The memory of a request besides its bytes, measured with some reserve.
  private static let overhead = 1024
  private let capacity: Int
  private let seed = UInt64.random(in: .min ... .max)
  private let factor = UInt64.random(in: .min ... .max) | 1
  /// The requests, each in the slot that its key chooses, or in the next free one. At least half of
  /// the slots are free. A `Dictionary` would need two accesses to memory instead of one.
  private var slots = [RecentRequest.Slot](repeating: RecentRequest.Slot(), count: 64)
  private(set) var count = 0
  /// The slot of the next candidate for eviction.
  private var hand = 0
  private(set) var bytes = 0
  /// The upper halves of the keys of requests that have arrived once, in sets of eight. The lower
  /// bits of a key choose the set. There is room for one in each KiB of the capacity, which is more
  /// than can be cached.
  private var arrived: [SIMD8<UInt32>]
  private var next = 0

  /// `capacity` is in bytes, approximately.
  init(capacity: Int) {
    self.capacity = capacity
    arrived = Array(repeating: .zero, count: capacity / 8192)
  }

  /// The key of a request with this head, and the request if it is known.
  func find(_ head: UnsafeRawBufferPointer) -> (key: UInt64, request: RecentRequest?) {
    guard (Self.shortestHead...Self.longestHead).contains(head.count) else { return (0, nil) }
    let key = key(of: head)
    guard let request = slots[slot(of: key)].request, head.equals(request.bytes) else { return (key, nil) }
    request.wasFound = true
    return (key, request)
  }

  /// Notes that an unknown request has arrived. Returns it if it has arrived before.
  mutating func add(_ head: RequestHead, _ key: UInt64) -> RecentRequest? {
    guard (Self.shortestHead...Self.longestHead).contains(head.size), !arrived.isEmpty else { return nil }
    let (set, mark) = (Int(key % UInt64(arrived.count)), UInt32(truncatingIfNeeded: key >> 32))
    guard any(arrived[set] .== mark), slots[slot(of: key)].request == nil else {
      // In turns, so that the requests of one set cannot all displace each other again and again.
      arrived[set][next % 8] = mark
      next &+= 1
      return nil
    }
    let request = RecentRequest(head)
    request.cost = head.size + Self.overhead
    makeRoom(for: request.cost)
    if 2 * (count + 1) > slots.count { doubleSlots() }
    slots[slot(of: key)] = RecentRequest.Slot(key: key, request: request)
    count += 1
    bytes += request.cost
    return request
  }

  /// Keeps the response to a request. Returns false if the request was evicted meanwhile, or if the
  /// response is too long to be copied for each request.
  mutating func keep(_ response: ReusableResponse, for request: RecentRequest) -> Bool {
    guard request.cost > 0, response.size < OutputBuffer.longBody else { return false }
    let cost = request.bytes.count + Self.overhead + response.size
    request.response = response
    bytes += cost - request.cost
    request.cost = cost
    makeRoom(for: 0)
    return true
  }

  /// Hashes eight bytes at a time, which is much faster than `Hasher`.
  ///
  /// `find` compares all bytes, so nothing depends on different keys for different heads. But a
  /// comparison takes longer if more bytes are equal. The seed and the factor are random, so a
  /// client cannot choose heads with the key of another client's request, and learn the token from
  /// the time of the comparison.
  private func key(of head: UnsafeRawBufferPointer) -> UInt64 {
    var hash = seed ^ UInt64(head.count)
    // The last eight bytes usually overlap those before.
    let last = head.count - 8
    for position in stride(from: 0, to: last, by: 8) { hash = mixed(hash, head, position) }
    return mixed(hash, head, last)
  }

  private func mixed(_ hash: UInt64, _ head: UnsafeRawBufferPointer, _ position: Int) -> UInt64 {
    let word = head.loadUnaligned(fromByteOffset: position, as: UInt64.self)
    let product = (hash ^ word).multipliedFullWidth(by: factor)
    return product.high ^ product.low
  }

  /// The slot with this key, or the free slot where it belongs.
  private func slot(of key: UInt64) -> Int {
    let mask = slots.count - 1
    var index = Int(truncatingIfNeeded: key) & mask
    while slots[index].key != key, slots[index].request != nil { index = (index + 1) & mask }
    return index
  }

  private mutating func doubleSlots() {
    let old = slots
    slots = Array(repeating: RecentRequest.Slot(), count: 2 * old.count)
    for entry in old where entry.request != nil { slots[slot(of: entry.key)] = entry }
    hand = 0
  }

  /// Evicts one request after the other. A request that was found since the last sweep stays until
  /// the next one.
  private mutating func makeRoom(for more: Int) {
    while bytes + more > capacity, count > 0 {
      guard let candidate = slots[hand].request, !candidate.wasFound else {
        slots[hand].request?.wasFound = false
        hand = (hand + 1) & (slots.count - 1)
        continue
      }
      bytes -= candidate.cost
      candidate.cost = 0
      count -= 1
      removeSlot(hand)
    }
  }

  /// Frees a slot. Moves requests that had to take a slot behind it closer to their own.
  private mutating func removeSlot(_ index: Int) {
    let mask = slots.count - 1
    var (free, next) = (index, (index + 1) & mask)
    while slots[next].request != nil {
      let home = Int(truncatingIfNeeded: slots[next].key) & mask
      if (next - home) & mask >= (next - free) & mask {
        slots[free] = slots[next]
        free = next
      }
      next = (next + 1) & mask
    }
    slots[free] = RecentRequest.Slot()
  }
}

/// A request that an event loop got at least twice. Only the loop's thread uses it.
///
/// With many users, each object that a repetition needs is one that the CPU's caches lack. So this
/// object has all that is needed, and the head is not looked at.
final class RecentRequest {
  fileprivate struct Slot {
    var key: UInt64 = 0
    var request: RecentRequest?
  }

  let head: RequestHead
  /// The bytes of the head.
  fileprivate let bytes: [UInt8]
  let exchange: ResponseSerializer.Exchange
  fileprivate var wasFound = false
  /// 0 if the request was evicted.
  fileprivate var cost = 0
  /// The last response, if it may be sent again.
  var response: ReusableResponse?

  fileprivate init(_ head: RequestHead) {
    self.head = head
    bytes = head.bytes
    exchange = ResponseSerializer.Exchange(head)
  }

  /// Whether the response is still valid for a client.
  func holds(for peer: PeerAddress, at now: Int64) -> Bool {
    guard response?.host == peer.host else { return false }
    return response?.validity.holds(at: now) ?? false
  }

  func appendResponse(for exchange: ResponseSerializer.Exchange, dateField: [UInt8], to output: inout [UInt8]) {
    guard let fields = response?.validity.fields else { return }
    response?.response.append(adding: fields, for: exchange, dateField: dateField, to: &output)
  }
}

/// A response that may be sent again: see `ResponseValidity`.
struct ReusableResponse {
  /// The address of the client that got the response. Another client may have another rate limit,
  /// and another line in the log.
  let host: String
  let response: EncodedResponse
  let validity: any ResponseValidity

  fileprivate var size: Int { response.size }
}
