import LockstepJSON
import LockstepTestSupport

/// A client that keeps a copy of the collections that it follows. At random it polls, waits, reads
/// an event stream, disconnects, and continues from old cursors. It checks its copy after each
/// step.
struct Follower {
  typealias Fault = FollowedCopy.Fault

  /// A copy and its cursor.
  private struct Point {
    let cursor: String
    let copy: FollowedCopy
  }

  /// The sets of collections that a follower may choose. An empty set means all.
  private static let filters: [[String]] = [
    [], [], [], ["favorites"], ["defaults"], ["profile", "favorites"], ["defaults/standard"],
    ["defaults/editor", "profile"],
  ]
  private static let paths = ["favorites", "profile"] + FollowedWriter.suites.map { "defaults/\($0)" }

  let number: Int
  let token: String
  private let server: FollowedServer
  private var random: SeededNumbers
  private var filter: [String] = []
  private var point: Point?
  /// Earlier points. The follower sometimes continues from one of them.
  private var past: [Point] = []

  init(number: Int, token: String, server: FollowedServer, seed: UInt64) {
    self.number = number
    self.token = token
    self.server = server
    random = SeededNumbers(seed: seed)
  }

  // MARK: Following

  /// Follows until the server ends.
  mutating func follow(at port: Int) async throws {
    do {
      var client = try RawClient(port: port)
      // After each start, the follower first continues from its last cursor.
      try await poll(client)
      while true {
        if try await !step(client, port) { client = try RawClient(port: port) }
      }
    } catch let failure as RawClient.Failure {
      guard server.isEnding else { throw Fault(description: "follower \(number): \(failure)") }
    }
  }

  /// Polls until nothing is new, and then compares the copy with the resources.
  mutating func catchUp(at port: Int) async throws {
    let client = try RawClient(port: port)
    while true {
      let before = point?.cursor
      try await poll(client)
      if before == point?.cursor { break }
    }
    try await check(client)
  }

  /// Returns whether the connection can still be used.
  private mutating func step(_ client: RawClient, _ port: Int) async throws -> Bool {
    switch random.below(16) {
    case 0:
      if random.once(in: 4) { try await begin(client) }
    case 1, 2:
      if past.isEmpty { return true }
      point = random.one(of: past)
      server.count { $0.returns += 1 }
    case 3...6:
      try await poll(client)
    case 7...11:
      try await wait(client)
    case 12:
      try await send(client, changes(wait: true))
      return disconnect(client)
    default:
      try await listen(client)
      return disconnect(client)
    }
    if random.once(in: 4) { try await check(client) }
    return true
  }

  private mutating func disconnect(_ client: RawClient) -> Bool {
    if random.once(in: 2) { client.reset() } else { client.close() }
    server.count { $0.disconnections += 1 }
    return false
  }

  /// Drops everything and starts over, in one of the possible ways.
  private mutating func begin(_ client: RawClient) async throws {
    past = []
    point = nil
    filter = random.one(of: Self.filters)
    switch random.below(3) {
    case 0: try await poll(client)
    case 1:
      // Starts with a snapshot and the cursor in it.
      let name = random.one(of: Self.paths)
      filter = [name]
      let whole = try await get(client, "/v1/\(name)")
      var copy = FollowedCopy()
      try Self.take(whole, as: name, into: &copy)
      let tag = whole.field("ETag")?.filter { $0 != "\"" } ?? ""
      arrive(Point(cursor: tag, copy: copy))
      // That cursor belongs to one collection. The poll returns the cursor of the whole state.
      try await poll(client)
    default:
      let now = try JSON(parsing: try await get(client, "/v1/changes?since=now").body)["cursor"]?.stringValue ?? ""
      if let copy = try await truth(client, at: now) { arrive(Point(cursor: now, copy: copy)) }
    }
  }

  private mutating func poll(_ client: RawClient) async throws {
    try await send(client, changes(wait: false))
    try take(try await client.response(), isWait: false)
  }

  private mutating func wait(_ client: RawClient) async throws {
    try await send(client, changes(wait: true))
    try take(try await client.response(), isWait: point != nil)
  }

  private mutating func take(_ response: RawResponse, isWait: Bool) throws {
    guard response.status == 200 else { throw fault("\(response.status) \(response.text)") }
    server.count { $0.polls += 1 }
    let document = try JSON(parsing: response.body)
    guard response.field("Cursor") == document["cursor"]?.stringValue else { throw fault("two cursors: \(response)") }
    let before = point?.cursor
    let isEmpty = try take(document)
    // A wait with the current cursor must not end without a change. With an older cursor it may: a
    // change and its reversal cancel each other out.
    if isWait, isEmpty, before == point?.cursor, !server.isEnding {
      throw fault("the wait ended without a change at \(before ?? "")")
    }
  }

  /// Reads a few events from an event stream.
  private mutating func listen(_ client: RawClient) async throws {
    var fields = ["Accept: text/event-stream"]
    var target = changes(wait: false)
    if let point, random.once(in: 2) {
      // Resume as browsers do: with the first URL and the id of the last event.
      fields.append("Last-Event-ID: \(point.cursor)")
      target = changes(wait: false, since: past.first?.cursor ?? point.cursor)
    }
    try await send(client, target, fields)
    let status = String(decoding: try await client.line(), as: UTF8.self)
    guard status == "HTTP/1.1 200 OK" else { throw fault("the stream began with \(status)") }
    while try await !client.line().isEmpty {}
    for _ in 0..<(1 + random.below(5)) {
      // Each event is one chunk, after a line with its size. The last chunk is empty.
      if try await client.line() == [UInt8(ascii: "0")] { return }
      let event = String(decoding: try await client.line(), as: UTF8.self)
      if event.hasPrefix(":") { continue }
      let lines = event.split(separator: "\n", omittingEmptySubsequences: false)
      guard lines.count == 5, lines[0] == "event: changes", lines[3].isEmpty, lines[4].isEmpty else {
        throw fault("an event in another form: \(event)")
      }
      _ = try take(try JSON(parsing: String(lines[2].dropFirst("data: ".count))))
      guard lines[1] == "id: \(point?.cursor ?? "")" else { throw fault("the event's id is not its cursor: \(event)") }
      server.count { $0.events += 1 }
    }
  }

  // MARK: Applying

  /// Applies a document. Returns whether it contained no change.
  private mutating func take(_ document: JSON) throws -> Bool {
    guard let cursor = document["cursor"]?.stringValue, let isReset = document["reset"]?.boolValue,
      let changesets = document["changesets"]?.arrayValue
    else { throw fault("not a document of changes: \(document)") }
    guard document["since"]?.stringValue == point?.cursor else {
      throw fault("it does not continue from this follower's cursor: \(document)")
    }
    for changeset in changesets {
      let name = changeset["collection"]?.stringValue ?? ""
      guard includes(name) else { throw fault("\(name) was not asked for") }
    }
    var copy = point?.copy ?? FollowedCopy()
    if isReset {
      if let point { try expectForced(point.cursor, cursor) }
      try copy.reset(to: changesets)
    } else {
      let tally: FollowedCopy.Tally
      do { tally = try copy.apply(changesets) } catch {
        throw fault("from \(point?.cursor ?? "") to \(cursor): \(error)")
      }
      server.count {
        $0.changesets += tally.changesets
        $0.moves += tally.moves
      }
    }
    arrive(Point(cursor: cursor, copy: copy))
    return changesets.isEmpty && !isReset
  }

  private mutating func arrive(_ point: Point) {
    self.point = point
    server.note(point.cursor, of: number)
    guard past.last?.cursor != point.cursor else { return }
    // Keep the first point, some old ones and mostly recent ones.
    if past.count >= 12 { past.remove(at: 1 + random.below(past.count - 1)) }
    past.append(point)
  }

  /// A reset is only allowed if the server no longer has the history since the cursor.
  private func expectForced(_ since: String, _ now: String) throws {
    server.count { $0.resets += 1 }
    guard let age = Self.revisions(from: since, to: now), age >= FollowedServer.keptRevisions else {
      throw fault("an unnecessary reset at \(now), since \(since)")
    }
  }

  /// How many revisions lie between two cursors. Clients must treat a cursor as opaque, but a test
  /// may parse it.
  private static func revisions(from old: String, to new: String) -> Int? {
    let (old, new) = (old.split(separator: "."), new.split(separator: "."))
    guard old.count >= 3, new.count >= 3, old[0] == new[0] else { return nil }
    // The era follows the hyphen.
    guard let first = Int(old[1].prefix { $0 != "-" }), let last = Int(new[1].prefix { $0 != "-" }) else { return nil }
    return last - first
  }

  // MARK: Comparing

  /// Compares the copy with the resources as of its cursor. If the cursor is still the latest, it
  /// also compares the copy with the present resources.
  private func check(_ client: RawClient) async throws {
    guard let point, let truth = try await truth(client, at: point.cursor) else { return }
    guard truth == point.copy else {
      throw fault("at \(point.cursor) the copy is \(point.copy), but the resources are \(truth)")
    }
    server.count { $0.checks += 1 }
  }

  /// The state that the resources show as of a cursor, or nil if the server no longer has that
  /// history.
  private func truth(_ client: RawClient, at cursor: String) async throws -> FollowedCopy? {
    var copy = FollowedCopy()
    for name in Self.paths where includes(name) {
      let past = try await get(client, "/v1/\(name)?at=\(cursor)")
      let present = try await get(client, "/v1/\(name)")
      let (tag, presentTag) = (past.field("ETag") ?? "", present.field("ETag") ?? "")
      if past.status == 404 {
        guard let age = Self.revisions(from: cursor, to: present.field("Cursor") ?? ""),
          age >= FollowedServer.keptRevisions
        else { throw fault("\(name) is not known at \(cursor): \(past.text)") }
        return nil
      }
      try server.check(past.body, behind: tag, at: "\(token) \(name)")
      try server.check(present.body, behind: presentTag, at: "\(token) \(name)")
      if present.field("Cursor") == cursor, presentTag != tag {
        throw fault("\(name) at \(cursor): \(tag), \(presentTag)")
      }
      try Self.take(past, as: name, into: &copy)
    }
    return copy
  }

  private static func take(_ response: RawResponse, as name: String, into copy: inout FollowedCopy) throws {
    let body = try JSON(parsing: response.body)
    switch name {
    case "favorites": try copy.replace(list: name, by: body["items"]?.arrayValue ?? [])
    case "profile": copy.replace(map: name, by: body.objectValue ?? [:])
    default: copy.replace(map: name, by: body["values"]?.objectValue ?? [:])
    }
  }

  private func includes(_ name: String) -> Bool {
    filter.isEmpty || filter.contains { name == $0 || name.hasPrefix($0 + "/") }
  }

  // MARK: Requests

  private mutating func changes(wait: Bool, since: String? = nil) -> String {
    var query: [String] = []
    if let since = since ?? point?.cursor { query.append("since=\(since)") }
    if !filter.isEmpty { query.append("collections=\(filter.joined(separator: ","))") }
    if wait { query.append("wait=3600") }
    return "/v1/changes" + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
  }

  private func send(_ client: RawClient, _ target: String, _ fields: [String] = []) async throws {
    let lines = ["GET \(target) HTTP/1.1", "Host: h", "Authorization: Bearer \(token)"] + fields
    try await client.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
  }

  private func get(_ client: RawClient, _ target: String) async throws -> RawResponse {
    try await send(client, target)
    return try await client.response()
  }

  private func fault(_ text: String) -> Fault { Fault(description: "follower \(number) of [\(filter)]: \(text)") }
}
