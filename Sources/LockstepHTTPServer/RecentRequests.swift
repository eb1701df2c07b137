import LockstepHTTP

/// A cache of the requests that an event loop got at least twice, with responses that it may send
/// again.
///
/// Behind a reverse proxy, the requests of many users share a few connections. So the cache finds a
/// request by the bytes of its head, and not by its connection.
///
/// - A request is cached when it arrives for the second time. Requests that never repeat take no
///   room.
/// - The memory is bounded. The cache evicts requests that have not arrived lately.
struct RecentRequests {
  /// Longer heads are not kept.
  static let longestHead = 2048
  private static let shortestHead = 8
  /// The memory of a request besides its bytes, measured with some reserve.
  private static let overhead = 1024
  private let capacity: Int
  private let seed = UInt64.random(in: .min ... .max)
  private let factor = UInt64.random(in: .min ... .max) | 1
  private var requests: [UInt64: RecentRequest] = [:]
  /// The same requests. `hand` points to the next candidate for eviction.
  private var ring: [RecentRequest] = []
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

  var count: Int { requests.count }

  /// The key of a request with this head, and the request if it is known.
  func find(_ head: UnsafeRawBufferPointer) -> (key: UInt64, request: RecentRequest?) {
    guard (Self.shortestHead...Self.longestHead).contains(head.count) else { return (0, nil) }
    let key = key(of: head)
    guard let request = requests[key], request.head.hasBytes(head) else { return (key, nil) }
    request.wasFound = true
    return (key, request)
  }

  /// Notes that an unknown request has arrived. Returns it if it has arrived before.
  mutating func add(_ head: RequestHead, _ key: UInt64) -> RecentRequest? {
    guard (Self.shortestHead...Self.longestHead).contains(head.size), !arrived.isEmpty else { return nil }
    let (set, mark) = (Int(key % UInt64(arrived.count)), UInt32(truncatingIfNeeded: key >> 32))
    guard any(arrived[set] .== mark), requests[key] == nil else {
      // In turns, so that the requests of one set cannot all displace each other again and again.
      arrived[set][next % 8] = mark
      next &+= 1
      return nil
    }
    let request = RecentRequest(key, head)
    request.cost = head.size + Self.overhead
    makeRoom(for: request.cost)
    requests[key] = request
    ring.append(request)
    bytes += request.cost
    return request
  }

  /// Keeps the response to a request, unless the request was evicted meanwhile.
  mutating func keep(_ response: ReusableResponse, for request: RecentRequest) {
    guard requests[request.key] === request else { return }
    let cost = request.head.size + Self.overhead + response.size
    request.response = response
    bytes += cost - request.cost
    request.cost = cost
    makeRoom(for: 0)
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

  /// Evicts one request after the other. A request that was found since the last sweep stays until
  /// the next one.
  private mutating func makeRoom(for more: Int) {
    while bytes + more > capacity, !ring.isEmpty {
      if hand >= ring.count { hand = 0 }
      let candidate = ring[hand]
      guard !candidate.wasFound else {
        candidate.wasFound = false
        hand += 1
        continue
      }
      ring[hand] = ring[ring.count - 1]
      ring.removeLast()
      requests[candidate.key] = nil
      bytes -= candidate.cost
    }
  }
}

/// A request that an event loop got at least twice. Only the loop's thread uses it.
final class RecentRequest {
  let key: UInt64
  let head: RequestHead
  /// The last response, if it may be sent again.
  var response: ReusableResponse?
  fileprivate var wasFound = false
  fileprivate var cost = 0

  fileprivate init(_ key: UInt64, _ head: RequestHead) {
    self.key = key
    self.head = head
  }
}

/// A response that may be sent again: see `ResponseValidity`. It is a class, because copying a
/// response for each request would cost more.
final class ReusableResponse {
  /// The address of the client that got the response. Another client may have another rate limit,
  /// and another line in the log.
  let host: String
  let response: EncodedResponse
  let validity: any ResponseValidity

  /// Nil if the response is too long to be copied for each request.
  init?(_ response: EncodedResponse, _ validity: any ResponseValidity, host: String) {
    guard response.size < OutputBuffer.longBody else { return nil }
    self.host = host
    self.response = response
    self.validity = validity
  }

  fileprivate var size: Int { response.size }
}
